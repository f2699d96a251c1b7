#include <optional>
#include <vector>

#include "base/check/check.h"
#include "search/solve/minsum/elimination.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/minsum/order.h"

namespace cleave::search {

std::optional<Solution> Eliminate(const MinSum& problem, const EliminationLimits& limits) {
  const EliminationOrder order = OrderOfElimination(problem, limits);
  if (order.largest > limits.entries) return std::nullopt;
  Elimination elimination(problem, order.variables);
  for (const int variable : order.variables) {
    elimination.Replace(variable, elimination.TakeBucket(variable), {});
    if (elimination.store().entries() > limits.total) return std::nullopt;
  }
  Solution solution{.values = elimination.Decide(),
                    .cost = elimination.constant(),
                    .lower_bound = elimination.constant(),
                    .work = elimination.store().work()};
  CLEAVE_CHECK(CostOf(problem, solution.values) == solution.cost) << solution.cost << " is promised";
  return solution;
}

}  // namespace cleave::search
