// Prunes values that no choice below some cost has, while the tables of a problem are made one after another: each
// table is made only for the values that are left by then.
//
//   Pruning pruning(sizes, below);
//   for (each term) {
//     for (int v : scope) pruning.Prune(v);
//     make the table over pruning.Left(v) of each v;
//     pruning.Add(scope, table, 1);
//   }
//
// A lower bound of a table that is yet to be made counts by Expect().
//
// A choice costs at least the sum of the least entries of all tables, plus what the tables of a variable have more at
// its value (node consistency of weighted problems, Larrosa 2002). Tables that prune much, and small ones, should come
// first.
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_PRUNING_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_PRUNING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/solve/minsum/minsum.h"

namespace cleave::search {

class Pruning {
 public:
  // `sizes`: per variable the number of its values. Choices of `below` or more are not wanted.
  Pruning(const std::vector<int>& sizes, int64_t below);

  // Prunes the values of a variable that are known to be too expensive. Returns whether any is left; if not, no choice
  // costs less than `below`.
  bool Prune(int variable);
  // The values of a variable that are left, ascending.
  const std::vector<int>& Left(int variable) const { return left_[static_cast<size_t>(variable)]; }

  // A lower bound of a term that is added later, by the value of one variable.
  struct Expected {
    int variable = 0;
    int64_t least = 0;
    std::vector<int64_t> more;  // Per value.
  };
  // Counts such a bound; `costs`: by value of the variable, also those that are pruned.
  Expected Expect(int variable, std::vector<int64_t> costs);
  // REQUIRES: called before the term is added.
  void Forget(const Expected& expected);

  // Counts a term of the problem, or part of one, `times` times. REQUIRES: the table is over the values that are left
  // of each variable of the scope.
  void Add(const std::vector<int>& scope, const CostTable& table, int times);

 private:
  int64_t below_;
  int64_t least_ = 0;  // No choice costs less.
  std::vector<std::vector<int>> left_;
  std::vector<std::vector<int64_t>> more_;  // Per value that is left: by how much a choice with it costs more.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_PRUNING_H_
