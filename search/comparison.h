// Two searches of one model, of which the better plan is taken: measured by the programs of the plans. Private to
// search.
#ifndef CLEAVE_SEARCH_COMPARISON_H_
#define CLEAVE_SEARCH_COMPARISON_H_

#include <optional>
#include <string>

#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"

namespace cleave::search {

struct MeasuredPlan {
  Found found;
  Bytes peak;    // Of a rank.
  Seconds step;  // As predicted.
};

// Makes the program of `found`, whose gradients are applied by rows in `graph` already, if it has none; nullopt where
// nothing was found.
std::optional<MeasuredPlan> Measure(const ir::Graph& graph, std::optional<Found> found, const Cluster& cluster,
                                    const SearchOptions& options);

// By the objective: by the peak for the least memory, else by the step. Anything is better than nothing.
bool IsBetter(const std::optional<MeasuredPlan>& a, const std::optional<MeasuredPlan>& b, const SearchOptions& options);

// `options` whose programs share what SharedPrograms keeps, also where they did not.
SearchOptions WithSharedPrograms(SearchOptions options);

// `options` for a search whose plan is taken only where IsBetter than `known`.
SearchOptions ToBeat(const std::optional<MeasuredPlan>& known, SearchOptions options);

// Whether a plan pays time for memory without being told to: by micro-batches, or by values that are made again.
bool PaysTimeForMemory(const ir::Plan& plan, const ir::Pins& pins);

// "a rank needs 1 MiB and a step takes 1.2 ms in place of 2 MiB and 3.4 ms"
std::string WhyTaken(const MeasuredPlan& taken, const std::optional<MeasuredPlan>& other);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_COMPARISON_H_
