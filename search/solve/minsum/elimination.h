// Bucket elimination, step by step: removes the variables of a problem one after another, each with its bucket, the
// terms that contain it.
#ifndef CLEAVE_SEARCH_SOLVE_MINSUM_ELIMINATION_H_
#define CLEAVE_SEARCH_SOLVE_MINSUM_ELIMINATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "search/solve/minsum/minsum.h"
#include "search/solve/minsum/tables.h"

namespace cleave::search {

class Elimination {
 public:
  // `order`: all variables with several values, in the order of elimination.
  Elimination(const MinSum& problem, const std::vector<int>& order);

  // Removes the remaining terms that contain this variable from the problem, oldest first.
  absl::Span<const int> TakeBucket(int variable);

  // The variables of these terms except `variable`, ascending. Valid until the next call.
  const std::vector<int>& ScopeWithout(int variable, absl::Span<const int> terms);

  // Adds one term in place of these terms of a bucket: their least sum over the values of `variable`. `shift`: added
  // per value; empty: 0; it may be negative as long as the sums are not.
  void Replace(int variable, absl::Span<const int> terms, const std::vector<int64_t>& shift);

  // By value of `variable`, the least sum of these terms.
  std::vector<int64_t> LeastPerValue(int variable, absl::Span<const int> terms);

  // Values for all variables, decided from the last eliminated one to the first: each is the smallest of those that are
  // best for its bucket.
  std::vector<int> Decide() const;

  // The sum of what was subtracted from tables: the best cost, once every variable was eliminated with its whole
  // bucket.
  int64_t constant() const { return constant_; }
  const TableStore& store() const { return store_; }

  absl::Span<const int> scope(int term) const {
    const Term& own = terms_[static_cast<size_t>(term)];
    return absl::MakeConstSpan(scopes_).subspan(own.begin, store_.table(own.table).sizes.size());
  }
  const CostTable& table(int term) const { return store_.table(number(term)); }

 private:
  struct Term {
    int table = 0;
    size_t begin = 0;  // Of its scope, in scopes_.
    bool is_there = true;
  };
  struct Bucket {
    int variable = 0;
    size_t begin = 0, end = 0;  // In taken_.
  };

  int number(int term) const { return terms_[static_cast<size_t>(term)].table; }
  void Add(ReducedTable reduced, absl::Span<const int> scope);
  BucketForm& FormOf(int variable, absl::Span<const int> terms);
  int BestValue(const Bucket& bucket, const std::vector<int>& values) const;

  const std::vector<int>& domains_;
  std::vector<int> ranks_;  // Per variable, its position in the order.
  TableStore store_;
  std::vector<Term> terms_;
  std::vector<int> scopes_;
  std::vector<std::vector<int>> terms_of_;  // Per variable, also removed ones.
  std::vector<Bucket> buckets_;             // In the order of elimination.
  std::vector<int> taken_;                  // Their terms.
  int64_t constant_ = 0;
  // Scratch space.
  std::vector<int> scope_space_;
  std::vector<int> sorted_space_;
  BucketForm form_space_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_MINSUM_ELIMINATION_H_
