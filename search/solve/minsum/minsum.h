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

// A table laid over variables. Many terms may share a table: repeated layers do.
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
  int64_t work = 0;  // The number of sums in an elimination: a measure of time that is the same on every machine.

  bool operator==(const Solution&) const = default;
};

// What is wrong with the problem; empty when it is well formed.
std::vector<std::string> VerifyMinSum(const MinSum& problem);

// The cost of a choice, at most kForbidden.
int64_t CostOf(const MinSum& problem, const std::vector<int>& values);

// The best choice, by variable elimination (Bertele and Brioschi 1972; bucket elimination, Dechter 1999): variables
// leave one after another, those with the smallest table of neighbours first; a table that was made from equal tables
// before is used again, so that all equal layers together take the work of one. nullopt where tables would pass the
// `limits`. The same one of equally good choices is always taken: the smallest values, decided from the variable that
// left last to the first. Time and memory: O(variables x largest table).
std::optional<Solution> Eliminate(const MinSum& problem, const EliminationLimits& limits);

// A lower bound where elimination is too large: mini-buckets (Dechter and Rish 2003). A variable whose bucket would
// pass `limits.entries` is decided separately in parts of its bucket. The bound is never more than the best cost, and
// equal to it where nothing was split. `values` are those that the parts suggest, with their cost. `limits.total` is
// not used.
Solution EliminateInParts(const MinSum& problem, const EliminationLimits& limits);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_MINSUM_H_
