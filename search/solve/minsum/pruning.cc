#include "search/solve/minsum/pruning.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cleave::search {
namespace {

// Both from 0 to kForbidden.
int64_t Sum(int64_t a, int64_t b) { return std::min(a + b, kForbidden); }
int64_t Product(int64_t cost, int times) { return cost >= kForbidden / times ? kForbidden : cost * times; }

}  // namespace

Pruning::Pruning(const std::vector<int>& sizes, int64_t below) : below_(below) {
  for (const int size : sizes) {
    std::vector<int>& values = left_.emplace_back(static_cast<size_t>(size));
    std::iota(values.begin(), values.end(), 0);
    more_.emplace_back(static_cast<size_t>(size), 0);
  }
}

bool Pruning::Prune(int variable) {
  const auto v = static_cast<size_t>(variable);
  size_t kept = 0;
  for (size_t i = 0; i < left_[v].size(); ++i) {
    if (Sum(least_, more_[v][i]) >= below_) continue;
    left_[v][kept] = left_[v][i];
    more_[v][kept++] = more_[v][i];
  }
  left_[v].resize(kept);
  more_[v].resize(kept);
  return kept > 0;
}

Pruning::Expected Pruning::Expect(int variable, std::vector<int64_t> costs) {
  const auto v = static_cast<size_t>(variable);
  Expected expected{.variable = variable, .least = kForbidden, .more = std::move(costs)};
  for (const int value : left_[v]) expected.least = std::min(expected.least, expected.more[static_cast<size_t>(value)]);
  for (int64_t& cost : expected.more) cost = std::max<int64_t>(0, cost - expected.least);
  least_ = Sum(least_, expected.least);
  for (size_t i = 0; i < left_[v].size(); ++i) {
    more_[v][i] = Sum(more_[v][i], expected.more[static_cast<size_t>(left_[v][i])]);
  }
  return expected;
}

// Sums that reached kForbidden become smaller than those of the other terms, and remain bounds.
void Pruning::Forget(const Expected& expected) {
  const auto v = static_cast<size_t>(expected.variable);
  least_ -= expected.least;
  for (size_t i = 0; i < left_[v].size(); ++i) more_[v][i] -= expected.more[static_cast<size_t>(left_[v][i])];
}

void Pruning::Add(const std::vector<int>& scope, const CostTable& table, int times) {
  if (table.costs.empty()) return;
  const int64_t least = *std::min_element(table.costs.begin(), table.costs.end());
  least_ = Sum(least_, Product(least, times));
  size_t inner = table.costs.size();  // Entries over the later variables.
  for (size_t i = 0; i < scope.size(); ++i) {
    const auto size = static_cast<size_t>(table.sizes[i]);
    inner /= size;
    std::vector<int64_t> least_with(size, kForbidden);
    for (size_t block = 0; block * inner < table.costs.size(); ++block) {
      const auto begin = table.costs.begin() + static_cast<std::ptrdiff_t>(block * inner);
      int64_t& own = least_with[block % size];
      own = std::min(own, *std::min_element(begin, begin + static_cast<std::ptrdiff_t>(inner)));
    }
    std::vector<int64_t>& more = more_[static_cast<size_t>(scope[i])];
    for (size_t value = 0; value < size; ++value) {
      more[value] = Sum(more[value], Product(least_with[value] - least, times));
    }
  }
}

}  // namespace cleave::search
