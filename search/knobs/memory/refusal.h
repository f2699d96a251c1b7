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

// A plan, what it was searched with, and what it needs.
struct SmallestPlan {
  ir::Plan plan;
  double weight = 0;
  int zero = 0;
  ir::MemoryUse use = {};

  Bytes peak() const { return use.prediction.peak; }
};

// `plan` in the most micro-batches that it can have, up to the largest power of two of its samples; nullopt where it
// cannot have more than it has.
std::optional<ir::Plan> InMostMicroBatches(const ir::Graph& graph, const ir::Plan& plan);

// `searched`, whose plan is one of the searched graph, as one of the whole model, in which it makes again what saves
// memory if that is allowed, with its steps moved. nullopt where it has no program.
std::optional<SmallestPlan> WithAllSavings(const FitTask& task, Estimator& estimator, SmallestPlan searched);

// E0313. `smallest`: the plan that needs least, of all that were tried, with all savings. Plans with higher ZeRO levels
// are made and measured, so that their numbers are not guesses.
Diagnostic NothingFits(const FitTask& task, const SmallestPlan& smallest, Estimator& estimator);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_KNOBS_MEMORY_REFUSAL_H_
