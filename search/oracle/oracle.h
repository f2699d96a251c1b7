// The best plan of a small graph, found by trying all plans. Other searches are compared with it.
//
//   Assignment assignment(facts, mesh, {}, {});
//   std::optional<BestPlan> best = TryAllPlans(assignment, {});
//
// A plan gives every forward product and light op a strategy; everything else follows (search/solve/assignment).
// Factors are cut into at most MostPieces. A product uses every axis for which a factor has elements, a light op uses
// any axes; the axes of a factor may have any order.
#ifndef CLEAVE_SEARCH_ORACLE_ORACLE_H_
#define CLEAVE_SEARCH_ORACLE_ORACLE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "search/solve/assignment/assignment.h"

namespace cleave::search {

struct OracleOptions {
  // Leaves out plans that cannot be the best: those whose beginning costs as much as a whole plan that is
  // known, or differs from a cheaper beginning only in ops whose neighbours are all set. Without this every plan is
  // priced.
  bool prune = true;
  int64_t most_tried = std::numeric_limits<int64_t>::max();  // Beginnings of plans.
  // Which of all strategies an op may take; null: as above.
  std::function<bool(ir::OpId op, const ir::Strategy& strategy)> may_take = nullptr;
};

struct BestPlan {
  Cost cost;
  std::vector<IndexedChange> strategies;  // Of the ops that were open, by their numbers in the assignment.
  int64_t tried = 0;
};

// The cheapest plan that keeps what is fixed in `assignment`, which is left unchanged; of equal plans always the same
// one. nullopt where `most_tried` is not enough. O(strategies ^ open ops) at worst.
std::optional<BestPlan> TryAllPlans(Assignment& assignment, const OracleOptions& options);

// Every strategy that `TryAllPlans` gives an op of this rule.
std::vector<ir::Strategy> AllStrategies(const ir::Rule& rule, const ir::Mesh& mesh, bool is_product);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_ORACLE_ORACLE_H_
