// Leaves out values that no choice below some cost has, while the tables of a problem are made one after another: each
// table is needed only for the values that are left by then.
//
//   Pruning pruning(sizes, below);
//   for (each term) {
//     for (int v : scope) pruning.Prune(v);
//     make the table over pruning.Left(v) of each v;
//     pruning.Add(scope, table, 1);
//   }
//
// What is known of a table before it is made is counted by Expect() until then.
//
// Every choice costs at least the least entry of each table; a choice with value x of variable v costs more by what the
// tables of v have more at x (node consistency of weighted problems, Larrosa 2002). Tables whose costs decide much,
// and small ones, should come first.
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

  // Leaves out the values of a variable that are known to be too expensive. Returns whether any is left; if not, no
  // choice costs less than `below`.
  bool Prune(int variable);
  // The values of a variable that are left, ascending.
  const std::vector<int>& Left(int variable) const { return left_[static_cast<size_t>(variable)]; }

  // What a term that is added later costs at least, by what one variable does.
  struct Expected {
    int variable = 0;
    int64_t least = 0;
    std::vector<int64_t> more;  // Per value.
  };
  // Counts such a term; `costs`: at least what it costs with each value of the variable, also of those that are not
  // left.
  Expected Expect(int variable, std::vector<int64_t> costs);
  // Before the term is added.
  void Forget(const Expected& expected);

  // A term of the problem, `times` over, or part of one. REQUIRES: the table is over the values that are left of each
  // variable of the scope.
  void Add(const std::vector<int>& scope, const CostTable& table, int times);

 private:
  int64_t below_;
  int64_t least_ = 0;  // No choice costs less.
  std::vector<std::vector<int>> left_;
  std::vector<std::vector<int64_t>> more_;  // Per value that is left: by how much a choice with it costs more.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_PRUNING_H_
