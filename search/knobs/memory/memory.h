// Memory as a hard limit: how much a plan needs on a rank, and the cheapest plan that stays within a limit.
//
//   MemoryLimit limit = {.bytes = GiB(40), .span = settings.memory->span, .source = "`memory`"};
//   std::optional<Fit> fit = FitMemory({.graph = training_graph, .cluster = cluster, .limit = limit, …}, diagnostics);
//
// A search puts a price on memory: `plan_for(weight, zero)` is the plan that it finds when each byte of HeldBytes costs
// `weight` units of its price, with ZeRO level `zero`. FitMemory looks for the weight. The steps of a plan
// that does not fit are moved to where they take less memory (ir/program/order); if it still does not fit, it gets the
// fewest micro-batches and the least recomputation (search/knobs/recompute) with which it fits, where these are
// allowed.
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_MEMORY_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_MEMORY_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/lower/lower.h"
#include "ir/program/memory/memory.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/model/cluster/cluster.h"
#include "search/model/facts/facts.h"
#include "search/model/shorten/shorten.h"
#include "search/model/tuning/tuning.h"
#include "search/price/cost/execution.h"
#include "search/price/cost/pipeline.h"
#include "search/price/cost/predict.h"
#include "search/price/cost/prices.h"

namespace cleave::search {

// The program of a plan (ir/program/lower). What overlaps on the target is ordered by the times that stages take on the
// cluster. `layers`: which part of the equal layers of a model the graph has, if it stands for that model: as many
// share a message as there. REQUIRES: as Lower; 0 < layers <= 1.
absl::StatusOr<ir::LoweredProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                             const Cluster& cluster, const Execution& execution, double layers = 1);
// On any cluster. REQUIRES: the target overlaps nothing.
absl::StatusOr<ir::LoweredProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                             const Execution& execution = {});
// What a step takes: of all ranks, and where the program is a pipeline of its stages.
struct StepPrediction {
  Prediction whole;
  std::optional<PipelinePrediction> pipeline = {};
};
StepPrediction PredictStep(const ir::LoweredProgram& made, const Cluster& cluster, const Execution& execution);
// The predicted time of a step.
Seconds StepOf(const ir::LoweredProgram& made, const Cluster& cluster, const Execution& execution);

// The memory that the program of `plan` needs (ir/program/memory). It is exact: the generated program allocates the
// same. REQUIRES: as ProgramOf on any cluster.
ir::MemoryUse EstimateMemory(const ir::Graph& training_graph, const ir::Plan& plan, const Execution& execution = {});

// What a rank holds throughout, parameters, optimizer state and inputs, and the gradients, which are all there between
// the backward pass and the update. EstimateMemory's peak is never less, and this takes no program to find.
// `times`: how many ops each one stands for; empty: itself.
Bytes LeastMemory(const ir::Graph& training_graph, const ir::Plan& plan, const OpTimes& times = {});

// The bytes that a rank keeps because of the op's value under `strategy`: for a parameter also its gradient, unless
// that is applied by rows, and the optimizer's state; for a forward value only if the backward pass reads it; for all
// others nothing. ZeRO is not considered.
double HeldBytes(const GraphFacts& facts, const ir::Mesh& mesh, ir::OpId op, const ir::Strategy& strategy);

// `prices`, and in addition `weight` for each of these bytes. `facts` and `mesh` outlive them.
Prices WithMemoryWeight(const GraphFacts& facts, const ir::Mesh& mesh, double weight, Prices prices);

// The most that a rank may use.
struct MemoryLimit {
  Bytes bytes{0};
  Span span;           // Where the model says so; empty where the cluster does.
  std::string source;  // "`memory`", "the memory of `h200`"

  bool operator==(const MemoryLimit&) const = default;
};

// `memory` of the settings, else a device's memory where the cluster knows it.
std::optional<MemoryLimit> MemoryLimitOf(const ir::ParallelSettings& settings, const Cluster& cluster);

// What a plan may do besides cutting tensors so that a rank needs less memory.
struct Savings {
  bool recomputes = false;                       // The backward pass may make values of the forward pass again.
  bool micro_batches = false;                    // A step may take its batch in more parts than the plan says.
  std::map<ir::OpId, ir::Retention> asked = {};  // What the user decides, by op of the training graph.
};

// What the user decides, for Savings::asked.
std::map<ir::OpId, ir::Retention> AskedFor(const ir::Pins& pins);
// `plan`, with what the user asks for.
ir::Plan WithAsked(ir::Plan plan, const std::map<ir::OpId, ir::Retention>& asked);
// The plan with which the step takes least memory through recomputation and the order of its steps, and its program;
// nullopt where `plan`, which keeps everything, has no program.
std::optional<std::pair<ir::Plan, ir::LoweredProgram>> Smallest(const ir::Graph& training_graph, const Cluster& cluster,
                                                                const Execution& execution, const Savings& savings,
                                                                const SearchTuning& tuning, const ir::Plan& plan);

// A plan under the weight of a held byte, in units of the search's price, and a ZeRO level; nullopt after errors, which
// it reports itself. Its search.cost is the price without the weight. More weight need not give less memory, but
// usually does.
using PlanFor = std::function<std::optional<ir::Plan>(double memory_weight, int zero)>;

// A plan at a ZeRO level.
using PlanAt = std::function<ir::Plan(int zero)>;

// What a plan reached within the limit: the time of a step, if that is less than that of all plans before it, else,
// where none of these fits, the least memory that it needs without savings, or at least needs.
struct Reached {
  std::optional<Seconds> step;
  std::optional<Bytes> peak;
};

// Whether a plan is one of few, which are all tried, or of those near the best one.
enum class Trial { kAll, kNear };

// Changes the plan of `plan_for(weight, zero)` for as long as that makes it better by `reach`.
using TryPlan = std::function<Reached(const PlanAt&, Trial)>;
using ImprovePlan = std::function<void(double memory_weight, int zero, const TryPlan& reach)>;

// A plan that fits, its program, and the arguments with which `plan_for` made it, before it was improved and got
// micro-batches and recomputation.
struct Fit {
  ir::Plan plan;
  ir::LoweredProgram program;
  double weight = 0;
  int zero = 0;
  std::optional<int64_t> improved = {};  // That it is one of the changed plans: the number of the call of `reach`.
};

class Estimator;

struct FitTask {
  const SearchedGraph& model;  // The training graph. The task's plans are of its `graph`, the one that fits of `whole`.
  const Cluster& cluster;
  MemoryLimit limit;
  PlanFor plan_for;
  std::optional<int> zero = 0;  // nullopt: `auto`.
  Savings savings = {};
  Execution execution = {};
  SearchTuning tuning = {};
  ImprovePlan improve = nullptr;  // Null: plans stay as they are.
  // Under the price `time`: only plans with a faster step are looked for.
  std::optional<Seconds> faster_than = {};
  // What searches of the same model share (estimate.h); null: this one has its own.
  std::shared_ptr<Estimator> estimator = nullptr;

  // Whether programs are made quickly, so that many are.
  bool is_small() const { return improve != nullptr; }
};

// The cheapest plan found that stays within the limit: weights are bisected, with at most MostPlansPerLevel plans per
// level. A program is made only of plans whose LeastMemory fits. Under `auto` the levels 0, 1, 2, 3 are tried in this
// order until one fits without any weight. Where the first level has none that fits without savings or a weight, plans
// are improved: where `zero` is nullopt with all levels, and with all savings that may make them the best. Of
// the plans that fit, that with the fastest step is taken where the search's price is `time`, else the cheapest, and of
// equal ones the first. Where none fits, the result is nullopt, and E0313 says the least memory that a plan needs, the
// tensors that need most of it, and what else would save memory; where only faster plans are looked for, nothing is
// said.
std::optional<Fit> FitMemory(const FitTask& task, Diagnostics& diagnostics);

// The most plans: one without a weight, a ladder of weights, and the halvings of its last step.
int MostPlansPerLevel(const SearchTuning& tuning);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_MEMORY_H_
