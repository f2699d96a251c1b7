// Memory as a hard limit: how much a plan needs on a rank, and the cheapest plan that stays within a limit.
//
//   MemoryLimit limit = {.bytes = GiB(40), .span = settings.memory->span, .source = "`memory`"};
//   std::optional<Plan> plan = FitMemory(training_graph, limit, plan_for, settings.zero, diagnostics);
//
// A search puts a price on memory: `plan_for(weight, zero)` is the plan that it finds when each byte of HeldBytes costs
// `weight` units of its price, with ZeRO level `zero`. FitMemory looks for the weight.
#ifndef CLEAVE_SEARCH_MEMORY_MEMORY_H_
#define CLEAVE_SEARCH_MEMORY_MEMORY_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/memory/memory.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/transforms/distribute/distribute.h"
#include "search/cluster/cluster.h"
#include "search/cost/facts.h"
#include "search/cost/prices.h"
#include "search/tuning/tuning.h"

namespace cleave::search {

// The program of a plan, the graph that it was made from, and how it lies in memory.
struct PlannedProgram {
  ir::Distributed distributed;
  ir::Program program;
  ir::MemoryPlan memory;
};

// Distribute, Partition, then PlanMemory. An Internal error where one of them finds one. REQUIRES: VerifyGraph and
// VerifyPlan find no error.
absl::StatusOr<PlannedProgram> ProgramOf(const ir::Graph& training_graph, const ir::Plan& plan,
                                         const ir::FuseOptions& fuse = {});

// The memory that the program of `plan` needs (ir/program/memory). It is exact: the generated program allocates the
// same. REQUIRES: VerifyGraph and VerifyPlan find no error.
ir::MemoryUse EstimateMemory(const ir::Graph& training_graph, const ir::Plan& plan, const ir::FuseOptions& fuse = {});

// What a rank holds throughout: parameters, optimizer state and inputs. EstimateMemory's peak is never less, and this
// takes no program to find.
Bytes LeastMemory(const ir::Graph& training_graph, const ir::Plan& plan);

// The bytes that a rank keeps because of the op's value under `strategy`: for a parameter also its gradient and the
// optimizer's state; for a forward value only if the backward pass reads it; for all others nothing. ZeRO is not
// considered.
double HeldBytes(const GraphFacts& facts, const ir::Mesh& mesh, ir::OpId op, const ir::Strategy& strategy);

// `prices`, and in addition `weight` for each of these bytes. `facts` and `mesh` outlive them.
Prices WithMemoryWeight(const GraphFacts& facts, const ir::Mesh& mesh, double weight, Prices prices);

// The most that a rank may use.
struct MemoryLimit {
  Bytes bytes{0};
  Span span;                  // Where the model says so; empty where the cluster does.
  std::string source;         // "`memory`", "the memory of `h200`"
  ir::FuseOptions fuse = {};  // What the target computes as one piece, which therefore needs no memory.

  bool operator==(const MemoryLimit&) const = default;
};

// `memory` of the settings, else a device's memory where the cluster knows it.
std::optional<MemoryLimit> MemoryLimitOf(const ir::ParallelSettings& settings, const Cluster& cluster,
                                         const ir::FuseOptions& fuse = {});

// A plan under the weight of a held byte, in units of the search's price, and a ZeRO level; nullopt after errors, which
// it reports itself. Its search.cost is the price without the weight. More weight need not give less memory, but
// usually does.
using PlanFor = std::function<std::optional<ir::Plan>(double memory_weight, int zero)>;

// A plan that fits, its program, and the arguments with which `plan_for` made it.
struct Fit {
  ir::Plan plan;
  PlannedProgram program;
  double weight = 0;
  int zero = 0;
};

// The cheapest plan found that stays within the limit: weights are bisected, with at most MostPlansPerLevel plans per
// level. A program is made only of plans whose LeastMemory fits. `zero` is the level, nullopt for `auto`: 0, 1, 2, 3 in
// this order until one fits without any weight; of those that fit, the cheapest is taken, and of equal ones the lowest
// level. Where none fits, the result is nullopt, and E0313 says the least memory that a plan needs, the tensors that
// need most of it, and what else would save memory.
std::optional<Fit> FitMemory(const ir::Graph& training_graph, const MemoryLimit& limit, const PlanFor& plan_for,
                             std::optional<int> zero, Diagnostics& diagnostics, const SearchTuning& tuning = {});

// The most plans: one without a weight, a ladder of weights, and the halvings of its last step.
int MostPlansPerLevel(const SearchTuning& tuning);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MEMORY_MEMORY_H_
