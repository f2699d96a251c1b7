// Says why no plan stays within a memory limit. Private to search/memory.
#ifndef CLEAVE_SEARCH_MEMORY_REFUSAL_H_
#define CLEAVE_SEARCH_MEMORY_REFUSAL_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "base/diagnostic/diagnostic.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/memory/memory.h"
#include "ir/sharding/plan/plan.h"
#include "search/memory/memory.h"

namespace cleave::search {

// A plan, what it was searched with, and what it needs.
struct SmallestPlan {
  ir::Plan plan;
  double weight = 0;
  int zero = 0;
  ir::MemoryUse use;

  Bytes peak() const { return use.prediction.peak; }
};

// `plan` in the most micro-batches that it can have, up to the largest power of two of its samples; nullopt where it
// cannot have more than it has.
std::optional<ir::Plan> InMostMicroBatches(const ir::Graph& graph, const ir::Plan& plan);

// E0313. `smallest`: the plan that needs least, of all that were tried, with all savings. Plans with higher ZeRO levels
// are made and measured, so that their numbers are not guesses.
Diagnostic NothingFits(const FitTask& task, const SmallestPlan& smallest);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MEMORY_REFUSAL_H_
