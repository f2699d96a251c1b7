// Mini-buckets whose parts agree. A bucket that is too large is divided, and each part takes its own best value of the
// eliminated variable: a relaxation, so the sum is never above the best cost. Before that, cost is moved between the
// parts until every value of the variable has the same least sum in each (Ihler, Flerova, Dechter and Otten 2012,
// "Join-graph based cost-shifting schemes"): the sum of all parts stays the same, and their separate choices differ
// less. Read Divided, then Shifts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "search/solve/minsum/elimination.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/minsum/order.h"

namespace cleave::search {
namespace {

// Whether no sum of allowed costs can reach kForbidden, even with what is moved between parts.
bool SumsStayAllowed(const MinSum& problem) {
  std::vector<int64_t> greatest;
  for (const CostTable& table : problem.tables) {
    int64_t& own = greatest.emplace_back(0);
    for (const int64_t cost : table.costs) {
      if (cost < kForbidden) own = std::max(own, cost);
    }
  }
  int64_t sum = 0;
  for (const CostTerm& term : problem.terms) {
    sum = std::min(sum + greatest[static_cast<size_t>(term.table)], kForbidden);
  }
  return sum < kForbidden / 2;
}

int64_t Entries(const std::vector<int>& domains, const std::vector<int>& scope) {
  int64_t entries = 1;
  for (const int variable : scope) {
    const int64_t size = domains[static_cast<size_t>(variable)];
    if (entries > kForbidden / size) return kForbidden;
    entries *= size;
  }
  return entries;
}

// The bucket in parts whose tables have at most `limit` entries without `variable`, the largest terms first, each into
// the first part in which it fits. A single term may be larger.
std::vector<std::vector<int>> Divided(const std::vector<int>& domains, Elimination& elimination, int variable,
                                      absl::Span<const int> bucket, int64_t limit) {
  if (Entries(domains, elimination.ScopeWithout(variable, bucket)) <= limit) return {{bucket.begin(), bucket.end()}};
  std::vector<int> largest_first(bucket.begin(), bucket.end());
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [&](int a, int b) { return elimination.table(a).costs.size() > elimination.table(b).costs.size(); });
  std::vector<std::vector<int>> parts;
  for (const int term : largest_first) {
    const auto fits = [&](std::vector<int>& part) {
      part.push_back(term);
      const bool is_small = Entries(domains, elimination.ScopeWithout(variable, part)) <= limit;
      if (!is_small) part.pop_back();
      return is_small;
    };
    if (std::none_of(parts.begin(), parts.end(), fits)) parts.push_back({term});
  }
  return parts;
}

// What to add to each part per value of the eliminated variable, so that all parts have the mean of `least`, their
// least sums per value. A value forbidden in one part is forbidden in all.
std::vector<std::vector<int64_t>> Shifts(std::vector<std::vector<int64_t>> least) {
  const int64_t count = static_cast<int64_t>(least.size());
  for (size_t value = 0; value < least[0].size(); ++value) {
    int64_t sum = 0;
    for (const std::vector<int64_t>& part : least) sum = std::min(sum + part[value], kForbidden);
    for (int64_t i = 0; i < count; ++i) {
      int64_t& own = least[static_cast<size_t>(i)][value];
      own = sum == kForbidden ? kForbidden : sum / count + (i < sum % count ? 1 : 0) - own;
    }
  }
  return least;
}

}  // namespace

Solution EliminateInParts(const MinSum& problem, const EliminationLimits& limits) {
  const bool may_shift = SumsStayAllowed(problem);
  const std::vector<int> order = OrderByTable(problem, limits).variables;
  Elimination elimination(problem, order);
  for (const int variable : order) {
    const absl::Span<const int> bucket = elimination.TakeBucket(variable);
    const std::vector<std::vector<int>> parts = Divided(problem.domains, elimination, variable, bucket, limits.entries);
    if (parts.size() == 1 || !may_shift) {
      for (const std::vector<int>& part : parts) elimination.Replace(variable, part, {});
      continue;
    }
    std::vector<std::vector<int64_t>> least;
    for (const std::vector<int>& part : parts) least.push_back(elimination.LeastPerValue(variable, part));
    const std::vector<std::vector<int64_t>> shifts = Shifts(std::move(least));
    for (size_t i = 0; i < parts.size(); ++i) elimination.Replace(variable, parts[i], shifts[i]);
  }
  Solution solution{
      .values = elimination.Decide(), .lower_bound = elimination.constant(), .work = elimination.store().work()};
  solution.cost = CostOf(problem, solution.values);
  return solution;
}

}  // namespace cleave::search
