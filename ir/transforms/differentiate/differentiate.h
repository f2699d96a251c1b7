// From the forward graph to the training graph: forward, backward and update ops.
//
// Reverse mode: the ops are visited from the loss to the sources. Each asks its definition (ir/graph/ops) for the
// gradients of its inputs, which are built from ordinary ops. A value that is read several times gets the sum of its
// contributions; in a manual model (ir/graph/manual) that sum also goes over the ranks that used it with different
// values, by ops that communicate. Then what the optimizer makes of the parameters is appended, again as ordinary ops.
//
// Every backward op carries the factor map to the forward op that it comes from (Op::inherits), so a plan for the
// forward ops is a plan for all. Sums of several contributions and update ops have no such map: they get their own
// strategies.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_DIFFERENTIATE_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_DIFFERENTIATE_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"

namespace cleave::ir {

// The payload of an error about a look.
inline constexpr char kLineOfLook[] = "cleave.line_of_look";

// A part of the loss that trains some parameters alone.
struct TrainingLoss {
  std::string loss;                     // The name of its value, a scalar.
  std::vector<std::string> parameters;  // Whose gradients are those of this value.

  bool operator==(const TrainingLoss&) const = default;
};

// What a step of training makes of the parameters and of what the optimizer keeps of them: ops in program order, and
// the updates of states and parameters. It stands beside the model, because its inputs are gradients, which the model
// does not have yet. A `parameter` op stands for the model's parameter of that name, an `input` op for the gradient of
// the parameter that its `data` names, or for what the model's own update makes of the state of that name, which the
// update of the same state here then replaces. The optimizer of a model is written in the language, and the frontend
// expands it.
struct Updates {
  Graph graph;
  std::vector<TrainingLoss> losses = {};  // Empty: gradients are those of the model's loss. No parameter is in two.
  // The gradient of a loss by itself, which gradients are then multiples of: a `constant` of the graph, or a
  // `parameter`, a state of the model. Without it that is 1.
  std::optional<OpId> loss_scale = {};

  bool operator==(const Updates&) const = default;
};

// The training graph of `forward`. Ids of forward ops stay as they are. Behind them come the backward ops, whose
// gradients are named `<op>.grad`, and the ops of `updates`, with phase kUpdate. A loss that is absent, or a
// differentiable path through an op without gradient, is an InvalidArgument error that names the op and its line. What
// is computed from the gradient of a parameter that has none is left out, and that parameter has no update. Looks at
// parts of values become looks at gradients and at what the update makes of the optimizer's states; where there is no
// such value, that is a NotFound error with the payload kLineOfLook: the line of the model that looks, in decimal.
// REQUIRES: `forward` has the parameters of `updates`.
absl::StatusOr<Graph> Differentiate(Graph forward, const Updates& updates);

// The parameters that `loss`, a scalar of `forward`, depends on through gradients, in program order; none where an op
// on the way has no gradient.
std::vector<OpId> ParametersOf(const Graph& forward, OpId loss);

// The same of the loss; none where there is none.
std::vector<OpId> TrainedParameters(const Graph& forward);

// The values that depend on these parameters through real numbers, so that gradients flow through them: the parameters
// themselves, and what is computed from them other than by `stop_gradient`.
std::set<OpId> DependingOn(const Graph& graph, const std::function<bool(const Op&)>& is_parameter);
bool IsTrained(const Op& op);  // Whether it is a parameter that gradients reach.

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_DIFFERENTIATE_H_
