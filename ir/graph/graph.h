// The single-device program: a list of ops in SSA form with static shapes.
//
// Every op computes exactly one value, so an OpId names both the op and its value. Inputs, parameters, optimizer state
// and constants are ops without inputs ("sources"). Ops stand in an order in which each comes after its inputs. A Graph
// is built with a GraphBuilder (ir/graph/ops/builder.h), extended to a training graph by Differentiate
// (ir/transforms/differentiate) and has a text form (ir/graph/text.h) that is parsed back.
//
// Thread-compatible: const access from many threads is fine.
#ifndef CLEAVE_IR_GRAPH_GRAPH_H_
#define CLEAVE_IR_GRAPH_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/attributes/keys.h"
#include "ir/graph/op_kind/op_kind.h"
#include "ir/graph/repetition.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

using OpId = StrongId<struct OpIdTag>;

// When an op runs. Update ops run at the end of a step of training, wherever they stand. Metric ops run at logged steps
// and over the test part; they read forward values, and no other ops read them.
// Steps of programs alone may be of the weights: those of the backward pass that a stage of a pipeline leaves for later
// (ir/sharding/stages).
enum class Phase { kForward, kMetric, kBackward, kWeights, kUpdate };

absl::string_view PhaseName(Phase phase);  // "forward"
std::optional<Phase> ParsePhase(absl::string_view name);

// Where the strategy of a backward or update op comes from: factor i of this op is cut like factor `factors[i]` of `op`
// (an index into its rule's factors), -1 where the forward op has no such factor.
struct Inheritance {
  OpId op;
  std::vector<int> factors;

  bool operator==(const Inheritance&) const = default;
};

// How much of an input a step reads.
enum class InputReading {
  kSamples,  // A row of its first dimension for each sample of the batch.
  kStep,     // All of it, another record of a file in each step.
  kOnce,     // Nothing: all of it is read when the program begins.
};

// REQUIRES: the attributes are those of an input.
InputReading ReadingOf(const Attributes& input);
// Whether an op with these attributes is an input whose first dimension is the batch.
bool IsSamples(OpKind kind, const Attributes& attributes);

struct Op {
  OpId id;
  std::string name;  // Unique, stable: "h1.matmul", "h1.weight", "h1.matmul.grad_weight".
  OpKind kind{};
  Phase phase = Phase::kForward;
  std::vector<OpId> inputs = {};
  Attributes attributes = {};
  TensorType type = {};                      // Of the op's value.
  int line = 0;                              // Of the model file; 0 where no line causes it.
  std::optional<Inheritance> inherits = {};  // Set for ops that differentiate derives from a forward op.
  std::optional<OpId> gradient_of = {};      // Set when the value is the whole gradient of the loss by that op's value.
  Repetition repetition = {};                // The passes of the model's loops to which it belongs.

  bool operator==(const Op&) const = default;
};

// At the end of a step the state (a parameter or a slot of the optimizer) takes the value of `value`.
struct StateUpdate {
  OpId state;
  OpId value;

  bool operator==(const StateUpdate&) const = default;
};

struct Metric {
  std::string name;  // "accuracy"
  OpId value;        // A scalar: the mean over the global batch.

  bool operator==(const Metric&) const = default;
};

// How a value is looked at while the program trains.
enum class LookKind {
  kPrint,         // The whole tensor.
  kPrintLocal,    // What each rank holds.
  kAssertFinite,  // Ends the run where an element is infinite or not a number.
  kWatch,         // At logged steps: norm, least and largest element, and the share of zeros.
  kOutput,        // The whole tensor, for a file.
};

absl::string_view LookKindName(LookKind kind);  // "print_local"
std::optional<LookKind> ParseLookKind(absl::string_view name);

// A value that is looked at. It is no op: it has no strategy and no price, and the value is taken where and as it lies,
// so a program computes and sends the same with it and without it.
struct Look {
  LookKind kind = LookKind::kPrint;
  OpId value;
  std::string name;  // What the value is called where it is shown: "h1.matmul".
  int line = 0;      // Of the model file; 0 where no line asks for it.
  // Before Differentiate: what is looked at instead of the value itself, "grad" for its gradient or the name of a slot
  // of the optimizer, as the update leaves it; empty for the value.
  std::string part = {};

  bool operator==(const Look&) const = default;
};

// An axis of the ranks of a manual model.
struct RankAxis {
  std::string name;  // "dp"; "world" where the model names no axes.
  int64_t size = 1;

  bool operator==(const RankAxis&) const = default;
};

struct Graph {
  std::string model;  // "MnistMlp"
  std::string file;   // As the user typed it: "mnist_mlp.model".
  std::string hash;   // "xxh3:…" of the model's text and its overrides.
  IdVector<OpId, Op> ops;
  std::optional<OpId> loss;  // A scalar.
  std::vector<Metric> metrics;
  std::vector<StateUpdate> updates;  // Before Differentiate those that the model itself asks for.
  std::vector<Look> looks = {};      // In the order in which they are shown.
  // For a manual model (ir/graph/manual): the axes of its ranks, outermost first; ranks are numbered row-major. Each op
  // then says what one rank computes, and values may differ between ranks. Empty: a model for one device.
  std::vector<RankAxis> rank_axes = {};
  // The type in which ranks add up their parts of a value of 16 bits; nullopt: that of the value.
  std::optional<DType> sums = {};

  const Op& op(OpId id) const { return ops[id]; }
  bool is_manual() const { return !rank_axes.empty(); }
  std::optional<OpId> Find(absl::string_view name) const;

  bool operator==(const Graph&) const = default;
};

// The place of an op in the model's text, the same in all passes of a loop; one of its own for an op that is not
// repeated.
TextPlace PlaceOf(const Op& op);

// For each op the ops that read its value, in program order, one entry per reading input.
IdVector<OpId, std::vector<OpId>> Users(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_GRAPH_H_
