// From the forward graph to the training graph: forward, backward and update ops.
//
// Reverse mode: the ops are visited from the loss to the sources. Each asks its definition (ir/graph/ops) for the
// gradients of its inputs, which are built from ordinary ops. A value that is read several times gets the sum of its
// contributions; in a manual model (ir/graph/manual) that sum also goes over the ranks that used it with different
// values, by ops that communicate. Then the optimizer's update is appended for every parameter, again as ordinary
// (elementwise) ops, which codegen fuses into one loop.
//
// Every backward op carries the factor map to the forward op that it comes from (Op::inherits), so a plan for the
// forward ops is a plan for all. Sums of several contributions and update ops have no such map: they get their own
// strategies.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_DIFFERENTIATE_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_DIFFERENTIATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"

namespace cleave::ir {

// The payload of an error about a look.
inline constexpr char kLineOfLook[] = "cleave.line_of_look";

// The training graph of `forward` under `optimizer`. Ids of forward ops stay as they are. Optimizer slots are `state`
// ops named `<parameter>.momentum`, `<parameter>.adam_m`, `<parameter>.adam_v`; like all new ops they are appended
// after the forward ops, with phase kUpdate. Gradients are named `<op>.grad`. A loss that is absent, or a
// differentiable path through an op without gradient, is an InvalidArgument error that names the op and its line. A
// parameter on which the loss does not depend has no update (the frontend warns). Looks at parts of values become looks
// at gradients and at what the update makes of slots; where there is no such value, that is a NotFound error with the
// payload kLineOfLook: the line of the model that looks, in decimal.
absl::StatusOr<Graph> Differentiate(Graph forward, const Optimizer& optimizer);

// The parameters of `graph` on which the loss depends, in program order.
std::vector<OpId> TrainedParameters(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_DIFFERENTIATE_H_
