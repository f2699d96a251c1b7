// Min-sum problems: choose a value for each variable so that a sum of tables, each over few variables, is as small as
// possible.
//
//   MinSum problem{.domains = {2, 3},
//                  .tables = {{.sizes = {2, 3}, .costs = {4, 1, 0, 2, 9, 5}}},
//                  .terms = {{.scope = {0, 1}, .table = 0}}};
//   std::optional<Solution> best = Eliminate(problem, {});   // values {0, 2}, cost 0
//
// A plan's price is such a sum: variables are ops, values their strategies, a term is the cost of the redistributions
// around one tensor. Costs are integers, so that sums do not depend on their order and equal layers have exactly equal
// tables. Every function REQUIRES a problem in which VerifyMinSum finds no error. Thread-safe: no shared state.
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_MINSUM_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_MINSUM_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "search/model/tuning/tuning.h"

namespace cleave::search {

// The cost of a combination that must not be chosen. Sums that contain it do not grow beyond it.
constexpr int64_t kForbidden = std::numeric_limits<int64_t>::max() / 4;

// Costs over some variables, row-major: the last variable's value runs fastest. Each is from 0 to kForbidden.
struct CostTable {
  std::vector<int> sizes;
  std::vector<int64_t> costs;

  bool operator==(const CostTable&) const = default;
};

// A table over variables. Terms of equal layers share a table.
struct CostTerm {
  std::vector<int> scope;  // Variables, ascending, each with the table's size as its domain. Empty: a constant.
  int table = 0;

  bool operator==(const CostTerm&) const = default;
};

struct MinSum {
  std::vector<int> domains;  // Variable v takes 0 … domains[v] - 1; at least 1 each.
  std::vector<CostTable> tables;
  std::vector<CostTerm> terms;

  bool operator==(const MinSum&) const = default;
};

struct Solution {
  std::vector<int> values;
  int64_t cost = 0;         // kForbidden where every choice is forbidden.
  int64_t lower_bound = 0;  // No choice costs less; equal to `cost` where that is proven best.
  int64_t work = 0;         // Sums in an elimination: a measure of time that is equal on all machines.

  bool operator==(const Solution&) const = default;
};

// What is wrong with the problem; empty when it is well formed.
std::vector<std::string> VerifyMinSum(const MinSum& problem);

// The cost of a choice, at most kForbidden.
int64_t CostOf(const MinSum& problem, const std::vector<int>& values);

// The best choice, by variable elimination (Bertele and Brioschi 1972; bucket elimination, Dechter 1999), in the order
// of order.h. A table that was made from equal tables before is used again, so that all equal layers together take the
// work of one. nullopt where tables would pass the `limits`. Of equally good choices the one with the smallest values
// is taken, decided from the last eliminated variable to the first. Time and memory: O(variables x largest table).
std::optional<Solution> Eliminate(const MinSum& problem, const EliminationLimits& limits);

// A lower bound where elimination is too large: mini-buckets (Dechter and Rish 2003). A bucket that would pass
// `limits.entries` is split, and its variable eliminated in each part by itself. The bound is the best cost where
// nothing is split. `values` is a choice that the parts suggest, and `cost` its cost. `limits.total` is not used.
Solution EliminateInParts(const MinSum& problem, const EliminationLimits& limits);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_MINSUM_H_
