// Memory as a hard limit: how much a plan needs on a rank, and the cheapest plan that stays within a limit.
//
//   MemoryLimit limit = {.bytes = GiB(40), .span = settings.memory->span, .source = "`memory`"};
//   std::optional<Fit> fit = FitMemory({.graph = training_graph, .cluster = cluster, .limit = limit, …}, diagnostics);
//
// A search puts a price on memory: `plan_for(weight, zero)` is the plan that it finds when each byte of HeldBytes costs
// `weight` units of its price, at ZeRO level `zero`. FitMemory looks for weight and level. Of a plan that does not fit
// the steps are moved to where they take less memory (ir/program/order); then it gets the least recomputation
// (search/knobs/recompute) and the fewest micro-batches with which it fits, where these are allowed.
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

// The program of a plan (ir/program/lower), ordered for overlap by times on the cluster. `layers`: of a shortened
// graph, the share of the model's equal layers that it has; messages then take as many gradients as in the model.
// REQUIRES: as Lower; 0 < layers <= 1.
absl::StatusOr<ir::LoweredProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                             const Cluster& cluster, const Execution& execution, double layers = 1);
// The same for targets that overlap nothing, whose programs do not depend on the cluster.
absl::StatusOr<ir::LoweredProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                             const Execution& execution = {});
// The predicted step of all ranks; of a pipeline also of its stages.
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

// A lower bound of EstimateMemory's peak that needs no program: parameters, optimizer state, inputs, and the gradients,
// all of which exist between backward pass and update. `times`: how many ops each op stands for; empty: 1.
Bytes LeastMemory(const ir::Graph& training_graph, const ir::Plan& plan, const OpTimes& times = {});

// The bytes that a rank keeps because of the op's value under `strategy`, without ZeRO. Of a parameter: itself, its
// gradient unless that is applied by rows, and its optimizer state. Of a forward value that the backward pass reads:
// itself. Of all others: 0.
double HeldBytes(const GraphFacts& facts, const ir::Mesh& mesh, ir::OpId op, const ir::Strategy& strategy);

// `prices` plus `weight` for each byte of HeldBytes. `facts` and `mesh` outlive the result.
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

// How a plan may save memory besides cutting tensors.
struct Savings {
  bool recomputes = false;                       // Values may be made again.
  bool micro_batches = false;                    // There may be more than the plan has.
  std::map<ir::OpId, ir::Retention> asked = {};  // The user's retention pins, by op.
};

// Savings::asked of `pins`.
std::map<ir::OpId, ir::Retention> AskedFor(const ir::Pins& pins);
// `plan` with the retentions that the user asks for.
ir::Plan WithAsked(ir::Plan plan, const std::map<ir::OpId, ir::Retention>& asked);
// `plan`, which keeps everything, with the recomputation and the order of steps for the least peak, and its program;
// nullopt where `plan` has no program.
std::optional<std::pair<ir::Plan, ir::LoweredProgram>> Smallest(const ir::Graph& training_graph, const Cluster& cluster,
                                                                const Execution& execution, const Savings& savings,
                                                                const SearchTuning& tuning, const ir::Plan& plan);

// The plan that a search finds when a kept byte costs `memory_weight` units of its price, divided by ZeRO level `zero`.
// Its search.cost is without that price. nullopt after errors, which the function reports. More weight usually gives
// less memory, but need not.
using PlanFor = std::function<std::optional<ir::Plan>(double memory_weight, int zero)>;

// One plan, divided by a ZeRO level.
using PlanAt = std::function<ir::Plan(int zero)>;

// The result of trying a changed plan within the limit. `step`: if it fits and is faster than all before it. `peak`: if
// no plan fits yet, its peak without savings, or a lower bound of it.
struct Reached {
  std::optional<Seconds> step;
  std::optional<Bytes> peak;
};

// Which plans are tried: all, where there are few, or those near the best one.
enum class Trial { kAll, kNear };

// Changes the plan of `plan_for(memory_weight, zero)` as long as `reach` returns a better result.
using TryPlan = std::function<Reached(const PlanAt&, Trial)>;
using ImprovePlan = std::function<void(double memory_weight, int zero, const TryPlan& reach)>;

// A plan that fits, its program, and the arguments with which `plan_for` made the plan from which it comes.
struct Fit {
  ir::Plan plan;
  ir::LoweredProgram program;
  double weight = 0;
  int zero = 0;
  std::optional<int64_t> improved = {};  // Of a changed plan: the number of the call of `reach`.
};

class Estimator;

struct FitTask {
  const SearchedGraph& model;  // `plan_for` plans its `graph`, the result its `whole`.
  const Cluster& cluster;
  MemoryLimit limit;
  PlanFor plan_for;
  std::optional<int> zero = 0;  // nullopt: `auto`.
  Savings savings = {};
  Execution execution = {};
  SearchTuning tuning = {};
  ImprovePlan improve = nullptr;  // Null: the model is not small.
  // Only plans with a faster step are wanted; nullopt unless the price is `time`.
  std::optional<Seconds> faster_than = {};
  // Shared by searches of one model; null: this one has its own.
  std::shared_ptr<Estimator> estimator = nullptr;

  // Whether many programs are made, because that is quick.
  bool is_small() const { return improve != nullptr; }
};

// The best plan found within the limit: the one with the fastest step where the search's price is `time`, else the
// cheapest, and of equal ones the first. Under `auto` the levels 0, 1, 2, 3 are tried in this order until one fits
// without any weight; at each level that does not, weights grow until one fits, and then are bisected, with at most
// MostPlansPerLevel plans a level. A program is made only of plans whose LeastMemory fits. Plans of small models are
// improved where the first level does not fit without savings and weight. Where none fits, returns nullopt and reports
// E0313: the least memory that a plan needs, the tensors that need most of it, and what else would save memory; nothing
// where only faster plans are wanted.
std::optional<Fit> FitMemory(const FitTask& task, Diagnostics& diagnostics);

// One without a weight, one for each exponent of SearchTuning, and the bisection between the last two.
int MostPlansPerLevel(const SearchTuning& tuning);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_MEMORY_H_
