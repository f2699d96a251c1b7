// What tests of whole searches share.
#ifndef CLEAVE_SEARCH_TESTING_H_
#define CLEAVE_SEARCH_TESTING_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "gtest/gtest.h"
#include "search/search.h"

namespace cleave::search {

// Expects that there is a plan.
inline ir::Plan FoundPlan(const ir::Graph& graph, const Cluster& cluster, const SearchOptions& options,
                          const ir::Pins& pins = {}) {
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(graph, cluster, pins, options, diagnostics);
  EXPECT_TRUE(plan.has_value()) << (diagnostics.items().empty() ? "" : diagnostics.items()[0].message);
  return plan.value_or(ir::Plan{});
}

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_TESTING_H_
