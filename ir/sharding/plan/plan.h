// A plan: which rank computes which slice, and why. The output of search, the input of partition; plan.json is its text
// form.
#ifndef CLEAVE_IR_SHARDING_PLAN_PLAN_H_
#define CLEAVE_IR_SHARDING_PLAN_PLAN_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/diagnostic/diagnostic.h"
#include "ir/graph/graph.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/stages/stages.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {

enum class DecidedBy { kSearch, kPin, kPropagation, kForwardOp, kFallback, kManual };

absl::string_view DecidedByName(DecidedBy decided_by);  // "forward_op"
std::optional<DecidedBy> ParseDecidedBy(absl::string_view name);

// What the backward pass reads of what the forward pass made of an op's value.
enum class Retention {
  kKeep,          // The value, and its copies in other layouts.
  kRedistribute,  // The value alone: its copies in other layouts are made again from it.
  kRecompute,     // Nothing: the op is computed again from its inputs.
  kOffload,       // The same as with kKeep, but what it reads waits in the memory of the device's host.
};

// The word by which a model asks for it: "keep", "recompute", "offload"; "gather_again", for which none asks.
absl::string_view RetentionName(Retention retention);

// Where the cost of a choice comes from, in the price of the search. Backward ops count with the forward op from which
// they inherit. Costs with the gradient weight are separate from the rest, since the whole cost is linear in it.
struct CostParts {
  double inside = 0;     // The op and its backward ops themselves, and what their distributed forms send.
  double inputs = 0;     // Of the values that it reads, in all layouts in which they are needed.
  double output = 0;     // Of its own value.
  double backward = 0;   // Of what its backward ops read and make.
  double gradients = 0;  // Of parameter gradients and the update: weighted with the gradient weight.
  double elsewhere = 0;  // What the choice adds at other ops; 0 for the chosen one.
  int collectives = 0;   // The number of collectives for all of this.

  double sum() const { return inside + inputs + output + backward + gradients + elsewhere; }

  bool operator==(const CostParts&) const = default;
};

// One way in which an op could have been cut.
struct Choice {
  Strategy strategy;
  double cost = 0;  // In the price of the search: this op and its redistributions at the moment of the decision.
  bool chosen = false;
  std::optional<CostParts> parts = std::nullopt;  // Their sum is `cost`.

  bool operator==(const Choice&) const = default;
};

struct OpPlan {
  Strategy strategy;  // For sources: the storage layout of the value.
  // The layout that readers see, where it differs from the strategy's output (a pin's `out`): the value is
  // redistributed right after the op.
  std::optional<Layout> output;
  Retention retention = Retention::kKeep;
  bool by_rows = false;  // Of a table's gradient that is applied by rows: the op has the attribute `by_rows`.
  int64_t parts = 0;     // Of a loss: in how many parts the search computes it; 0: as the graph says.
  int64_t chunks = 0;    // Of a product: in how many chunks of its rows it is computed and reduced; 0: as a whole.
  bool ring = false;     // Of attention whose keys go round where its rows are cut: the op has the attribute `ring`.
  int stage = 0;         // Of the pipeline (ir/sharding/stages).
  DecidedBy decided_by = DecidedBy::kFallback;
  std::string reason;           // One sentence.
  std::vector<Choice> choices;  // At least the chosen one and the second best, where there was a choice.

  bool operator==(const OpPlan&) const = default;
};

// How the plan was found.
struct SearchSummary {
  std::string algorithm = "manual";  // "sapp", "data_parallel", "replicate", …
  std::string objective = "speed";
  std::string price = "bytes";
  int zero = 0;  // 1 to 3: what replicas have in common is divided (search/knobs/zero).
  double cost = 0;
  std::optional<double> lower_bound;

  bool operator==(const SearchSummary&) const = default;
};

inline constexpr int64_t kMostMicroBatches = 65536;
inline constexpr int64_t kMostZigzagPairs = 65536;
inline constexpr int64_t kMostChunks = 64;  // OpPlan::chunks.

// The stages of a plan that is a pipeline. Strategies and layouts do not use their axis.
struct Pipeline {
  AxisId axis;  // Of the plan's mesh: ranks with one coordinate on it are a part, which has the same stages.
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;

  bool operator==(const Pipeline&) const = default;
};

struct Plan {
  std::string cluster = "cpu";
  Mesh mesh;
  IdVector<OpId, OpPlan> ops;  // One per op of the training graph.
  // A step takes its batch in so many parts, one after another (ir/sharding/micro_batches). Strategies and layouts say
  // nothing of it: they hold for each part.
  int64_t micro_batches = 1;
  std::optional<Pipeline> pipeline = {};
  // In how many pairs of chunks sequences lie in zigzag order (ir/transforms/zigzag) in the training graph; 0: in their
  // own order.
  int64_t zigzag = 0;
  // Steps are moved to where they take less memory (ir/program/order/order.h); else they are in the order of the
  // training graph, or that in which least waits (ir/program/order/overlap.h).
  bool moves_steps = false;
  double gradient_weight = 0.1;
  SearchSummary search;

  bool operator==(const Plan&) const = default;
};

// Whether the backward pass can compute the op again, or its value wait in the host's memory: a forward op that is no
// source and inherits from no other, in a model that is not manual.
bool CanBeRecomputed(const Graph& graph, const Op& op);

// Checks a strategy for the rule of its op. Where the plan has micro-batches, these cut factors too, and FindRefusal
// (ir/sharding/micro_batches) says whether all cuts go together.
absl::Status VerifyIn(const Plan& plan, const Strategy& strategy, const Rule& rule);

// The losses whose number of parts the search has chosen, for WithParts (ir/graph/sliced_losses).
std::vector<std::pair<OpId, int64_t>> LossParts(const Plan& plan);

// The attention whose keys go round, for WithRings (ir/graph/rings).
std::vector<OpId> RingAttention(const Plan& plan);

// The gradients that are applied by rows, for WithRowUpdates (ir/graph/row_updates).
std::vector<OpId> GradientsByRows(const Plan& plan);

// The number of stages; 1 where the plan is no pipeline.
int StageCount(const Plan& plan);

// The plan, which is one of the ranks of a stage, on as many times the ranks: `axis` becomes the first axis of its
// mesh, and op i is of stage `stage[i]` (StagesOf). An error where the mesh would be too large, or has an axis of that
// name.
absl::StatusOr<Plan> WithStages(Plan plan, const MeshAxis& axis, PipelineSchedule schedule,
                                const IdVector<OpId, int>& stage);

// The errors of the plan: sizes must agree, every strategy must be valid for its op's rule (VerifyIn), every `output`
// must be a layout of its value, only ops that can be are recomputed or offloaded, and stages must be those of a
// pipeline (VerifyStages). Empty when the plan is valid.
std::vector<std::string> VerifyPlan(const Graph& graph, const Plan& plan);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_PLAN_PLAN_H_
