// Interns tables: equal tables have the same number, and an elimination over the same tables in the same form is done
// only once.
//
// A repeated layer then takes one look-up: messages along a chain of equal layers become equal once their least cost is
// subtracted, because powers of a matrix over (min, +) become periodic up to a constant (Cohen, Dubois, Quadrat and
// Viot 1985).
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_TABLES_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/types/span.h"
#include "search/solve/minsum/minsum.h"

namespace cleave::search {

// A table whose least entry is 0, over variables with at least two values, and the constant that was subtracted from
// every entry.
struct ReducedTable {
  int table = -1;        // -1: nothing but the constant.
  int64_t constant = 0;  // kForbidden: every entry is forbidden.
};

// The result of eliminating a bucket, as a sum: `along` depends on one of the kept variables only and has the least
// cost for each of its values, `rest` is what is above that. Where all layers share a variable, costs grow with each
// layer by an amount that depends on its value; with that amount separated, the results of equal layers become equal
// there too.
struct LeftOver {
  ReducedTable rest;
  ReducedTable along;
};

// A bucket over local variables 0 … kept_count, of which the last is to be eliminated, as numbers: how many variables
// are kept; which of them `along` is over, -1 for none; then for each table its number and a variable for each of its
// dimensions, ascending.
using BucketForm = std::vector<int>;
constexpr size_t kFormHeader = 2;

class TableStore {
 public:
  // The table without dimensions of size 1, its least entry subtracted.
  ReducedTable Intern(CostTable table);
  const CostTable& table(int number) const { return *tables_[static_cast<size_t>(number)]; }

  // For every choice of the kept variables the least sum over the values of the last one. `along` is empty where the
  // form names no variable for it.
  const LeftOver& LeaveLast(const BucketForm& form);

  // For every value of the last variable the least sum over the kept ones.
  const std::vector<int64_t>& LeastPerLast(const BucketForm& form);

  // Entries of the tables that LeaveLast made, counted once for equal forms.
  int64_t entries() const { return entries_; }
  // Sums so far (Solution::work).
  int64_t work() const { return work_; }

 private:
  struct Hash {
    size_t operator()(const CostTable& table) const;
  };

  absl::node_hash_map<CostTable, int, Hash> numbers_;
  std::vector<const CostTable*> tables_;  // In numbers_.
  absl::node_hash_map<BucketForm, LeftOver> left_;
  absl::node_hash_map<BucketForm, std::vector<int64_t>> least_;
  int64_t entries_ = 0;
  int64_t work_ = 0;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_TABLES_H_
