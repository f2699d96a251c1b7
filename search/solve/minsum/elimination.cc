#include "search/solve/minsum/elimination.h"

#include <algorithm>

namespace cleave::search {

Elimination::Elimination(const MinSum& problem, const std::vector<int>& order)
    : domains_(problem.domains), ranks_(problem.domains.size(), 0), terms_of_(problem.domains.size()) {
  for (size_t i = 0; i < order.size(); ++i) ranks_[static_cast<size_t>(order[i])] = static_cast<int>(i);
  std::vector<ReducedTable> reduced;
  reduced.reserve(problem.tables.size());
  for (const CostTable& table : problem.tables) reduced.push_back(store_.Intern(table));
  std::vector<int> scope;
  for (const CostTerm& term : problem.terms) {
    scope.clear();
    for (const int variable : term.scope) {
      if (domains_[static_cast<size_t>(variable)] > 1) scope.push_back(variable);
    }
    Add(reduced[static_cast<size_t>(term.table)], scope);
  }
}

void Elimination::Add(ReducedTable reduced, absl::Span<const int> scope) {
  constant_ = std::min(constant_ + reduced.constant, kForbidden);
  if (reduced.table < 0) return;
  const int number = static_cast<int>(terms_.size());
  terms_.push_back({.table = reduced.table, .begin = scopes_.size()});
  scopes_.insert(scopes_.end(), scope.begin(), scope.end());
  for (const int variable : scope) terms_of_[static_cast<size_t>(variable)].push_back(number);
}

absl::Span<const int> Elimination::TakeBucket(int variable) {
  Bucket bucket{.variable = variable, .begin = taken_.size()};
  for (const int term : terms_of_[static_cast<size_t>(variable)]) {
    bool& is_there = terms_[static_cast<size_t>(term)].is_there;
    if (is_there) taken_.push_back(term);
    is_there = false;
  }
  bucket.end = taken_.size();
  buckets_.push_back(bucket);
  return absl::MakeConstSpan(taken_).subspan(bucket.begin, bucket.end - bucket.begin);
}

const std::vector<int>& Elimination::ScopeWithout(int variable, absl::Span<const int> terms) {
  scope_space_.clear();
  for (const int term : terms) {
    for (const int other : scope(term)) {
      if (other != variable) scope_space_.push_back(other);
    }
  }
  std::sort(scope_space_.begin(), scope_space_.end());
  scope_space_.erase(std::unique(scope_space_.begin(), scope_space_.end()), scope_space_.end());
  return scope_space_;
}

// The positions of the terms over their variables, with `variable` as the last one. Valid until the next call.
BucketForm& Elimination::FormOf(int variable, absl::Span<const int> terms) {
  const std::vector<int>& kept = ScopeWithout(variable, terms);
  // Sorted by content, so that equal buckets have equal forms.
  sorted_space_.assign(terms.begin(), terms.end());
  std::sort(sorted_space_.begin(), sorted_space_.end(), [&](int a, int b) {
    const absl::Span<const int> first = scope(a), second = scope(b);
    return first != second ? first < second : number(a) < number(b);
  });
  form_space_ = {static_cast<int>(kept.size()), -1};
  for (const int term : sorted_space_) {
    form_space_.push_back(number(term));
    for (const int other : scope(term)) {
      const auto place = other == variable ? kept.end() : std::lower_bound(kept.begin(), kept.end(), other);
      form_space_.push_back(static_cast<int>(place - kept.begin()));
    }
  }
  return form_space_;
}

void Elimination::Replace(int variable, absl::Span<const int> terms, const std::vector<int64_t>& shift) {
  BucketForm& form = FormOf(variable, terms);
  const std::vector<int>& kept = scope_space_;
  if (kept.size() > 1) {
    const auto earlier = [&](int a, int b) { return ranks_[static_cast<size_t>(a)] < ranks_[static_cast<size_t>(b)]; };
    form[1] = static_cast<int>(std::max_element(kept.begin(), kept.end(), earlier) - kept.begin());
  }
  int64_t moved = 0;
  if (!shift.empty()) {
    const ReducedTable reduced = store_.Intern({.sizes = {static_cast<int>(shift.size())}, .costs = shift});
    moved = reduced.constant;
    if (reduced.table >= 0) form.insert(form.end(), {reduced.table, form[0]});
  }
  const LeftOver& left = store_.LeaveLast(form);
  if (form[1] >= 0) Add(left.along, absl::MakeConstSpan(kept).subspan(static_cast<size_t>(form[1]), 1));
  Add(left.rest, kept);
  if (constant_ < kForbidden) constant_ += moved;
}

std::vector<int64_t> Elimination::LeastPerValue(int variable, absl::Span<const int> terms) {
  return store_.LeastPerLast(FormOf(variable, terms));
}

int Elimination::BestValue(const Bucket& bucket, const std::vector<int>& values) const {
  const size_t size = static_cast<size_t>(domains_[static_cast<size_t>(bucket.variable)]);
  std::vector<int64_t> sums(size, 0);
  for (size_t i = bucket.begin; i < bucket.end; ++i) {
    const CostTable& own = table(taken_[i]);
    const absl::Span<const int> variables = scope(taken_[i]);
    size_t entry = 0, stride = 1, own_stride = 0;
    for (size_t d = variables.size(); d-- > 0;) {
      if (variables[d] == bucket.variable) {
        own_stride = stride;
      } else {
        entry += stride * static_cast<size_t>(values[static_cast<size_t>(variables[d])]);
      }
      stride *= static_cast<size_t>(own.sizes[d]);
    }
    for (size_t value = 0; value < size; ++value) {
      sums[value] = std::min(sums[value] + own.costs[entry + value * own_stride], kForbidden);
    }
  }
  return static_cast<int>(std::min_element(sums.begin(), sums.end()) - sums.begin());
}

std::vector<int> Elimination::Decide() const {
  std::vector<int> values(domains_.size(), 0);
  for (size_t i = buckets_.size(); i-- > 0;) {
    values[static_cast<size_t>(buckets_[i].variable)] = BestValue(buckets_[i], values);
  }
  return values;
}

}  // namespace cleave::search
