// Says why no plan stays within a memory limit. Private to search/knobs/memory.
#ifndef CLEAVE_SEARCH_KNOBS_MEMORY_REFUSAL_H_
#define CLEAVE_SEARCH_KNOBS_MEMORY_REFUSAL_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory.h"
#include "ir/sharding/plan/plan.h"
#include "search/knobs/memory/estimate.h"
#include "search/knobs/memory/memory.h"

namespace cleave::search {

// A plan, the weight and the ZeRO level of its search, and the memory that it needs.
struct SmallestPlan {
  ir::Plan plan;
  double weight = 0;
  int zero = 0;
  ir::MemoryUse use = {};

  Bytes peak() const { return use.prediction.peak; }
};

// `plan` with the most micro-batches that the samples of a rank allow, doubled from its own number; nullopt where that
// is no more than it has.
std::optional<ir::Plan> InMostMicroBatches(const ir::Graph& graph, const ir::Plan& plan);

// `searched`, a plan of the searched graph, for the whole model, with its steps moved and, if the task allows it, the
// recomputation for the least peak. nullopt where it has no program.
std::optional<SmallestPlan> WithAllSavings(const FitTask& task, Estimator& estimator, SmallestPlan searched);

// E0313. `smallest`: the plan with the least peak of all that were tried, with all savings. What higher ZeRO levels
// need is measured on their programs.
Diagnostic NothingFits(const FitTask& task, const SmallestPlan& smallest, Estimator& estimator);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_REFUSAL_H_
