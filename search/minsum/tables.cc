#include "search/minsum/tables.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/hash/hash.h"

namespace cleave::search {
namespace {

// One table of a bucket, read along all of the bucket's variables.
struct Operand {
  std::vector<size_t> strides;  // Per kept variable; 0 where the table does not depend on it.
  size_t last_stride = 0;       // Of the variable that leaves.
  size_t depth = 0;             // The kept variables that it depends on are below this one.
  const int64_t* at = nullptr;  // The entry for the present values, 0 for variables not yet looked at.
};

// Adds tables up in nested loops over the kept variables. A row holds a sum per value of the leaving variable; the row
// of depth n has the tables that depend on the first n kept variables only, so that each is added as rarely as
// possible.
class Sweep {
 public:
  Sweep(const TableStore& store, const BucketForm& form) {
    sizes_.assign(static_cast<size_t>(form[0]) + 1, 1);
    for (size_t i = kFormHeader; i < form.size();) {
      const CostTable& table = store.table(form[i]);
      AddOperand(table, absl::MakeConstSpan(form).subspan(i + 1, table.sizes.size()));
      i += 1 + table.sizes.size();
    }
    last_size_ = static_cast<size_t>(sizes_.back());
    sizes_.pop_back();
    by_depth_.resize(sizes_.size() + 1);
    moved_.resize(sizes_.size());
    for (Operand& operand : operands_) {
      by_depth_[operand.depth].push_back(&operand);
      for (size_t depth = 0; depth < sizes_.size(); ++depth) {
        if (operand.strides[depth] > 0) moved_[depth].push_back(&operand);
      }
    }
    rows_.assign((sizes_.size() + 1) * last_size_, 0);
  }

  // Calls visit(row) for every choice of the kept variables, in row-major order.
  template <typename Visit>
  void Run(const Visit& visit) {
    Descend(0, Summed(rows_.data(), 0), visit);
  }

  // Appends for every choice of the kept variables, in row-major order, the least sum over the values of the one that
  // leaves.
  void AppendLeast(std::vector<int64_t>& least) { DescendToLeast(0, rows_.data(), least); }

  const std::vector<int>& sizes() const { return sizes_; }
  size_t last_size() const { return last_size_; }
  int64_t entries() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{1}, std::multiplies<int64_t>());
  }
  int64_t work() const { return entries() * static_cast<int64_t>(last_size_); }

 private:
  void AddOperand(const CostTable& table, absl::Span<const int> places) {
    Operand operand{.strides = std::vector<size_t>(sizes_.size() - 1), .at = table.costs.data()};
    size_t stride = 1;
    for (size_t d = places.size(); d-- > 0;) {
      const size_t variable = static_cast<size_t>(places[d]);
      if (variable < operand.strides.size()) {
        operand.strides[variable] = stride;
        operand.depth = std::max(operand.depth, variable + 1);
      } else {
        operand.last_stride = stride;
      }
      sizes_[variable] = table.sizes[d];
      stride *= static_cast<size_t>(table.sizes[d]);
    }
    operands_.push_back(std::move(operand));
  }

  // `row` with the tables of this depth added; itself where there are none.
  const int64_t* Summed(const int64_t* row, size_t depth) {
    for (const Operand* operand : by_depth_[depth]) row = Added(row, *operand, depth);
    return row;
  }

  const int64_t* Added(const int64_t* row, const Operand& operand, size_t depth) {
    int64_t* sums = rows_.data() + depth * last_size_;
    const int64_t* at = operand.at;
    for (size_t value = 0; value < last_size_; ++value, at += operand.last_stride) {
      sums[value] = std::min(row[value] + *at, kForbidden);
    }
    return sums;
  }

  // The least entry of `row` with the tables of this depth added. The last of them is not written into a row. No sum
  // of two costs passes what an entry can hold.
  int64_t LeastSum(const int64_t* row, size_t depth) {
    const std::vector<const Operand*>& operands = by_depth_[depth];
    if (operands.empty()) return *std::min_element(row, row + last_size_);
    for (size_t i = 0; i + 1 < operands.size(); ++i) row = Added(row, *operands[i], depth);
    const int64_t* at = operands.back()->at;
    int64_t least = kForbidden;
    if (operands.back()->last_stride == 0) {
      return std::min(least, *std::min_element(row, row + last_size_) + *at);
    }
    const size_t stride = operands.back()->last_stride;
    for (size_t value = 0; value < last_size_; ++value, at += stride) least = std::min(least, row[value] + *at);
    return least;
  }

  void DescendToLeast(size_t depth, const int64_t* row, std::vector<int64_t>& least) {
    if (depth == sizes_.size()) return least.push_back(LeastSum(row, depth));
    row = Summed(row, depth);
    const size_t size = static_cast<size_t>(sizes_[depth]);
    for (size_t value = 0; value < size; ++value) {
      DescendToLeast(depth + 1, row, least);
      for (Operand* operand : moved_[depth]) operand->at += operand->strides[depth];
    }
    for (Operand* operand : moved_[depth]) operand->at -= size * operand->strides[depth];
  }

  template <typename Visit>
  void Descend(size_t depth, const int64_t* row, const Visit& visit) {
    if (depth == sizes_.size()) return visit(absl::MakeConstSpan(row, last_size_));
    const size_t size = static_cast<size_t>(sizes_[depth]);
    for (size_t value = 0; value < size; ++value) {
      Descend(depth + 1, Summed(row, depth + 1), visit);
      for (Operand* operand : moved_[depth]) operand->at += operand->strides[depth];
    }
    for (Operand* operand : moved_[depth]) operand->at -= size * operand->strides[depth];
  }

  std::vector<int> sizes_;  // Of the kept variables.
  size_t last_size_ = 1;
  std::vector<Operand> operands_;
  std::vector<std::vector<const Operand*>> by_depth_;  // To be added at a depth.
  std::vector<std::vector<Operand*>> moved_;           // That depend on a kept variable.
  std::vector<int64_t> rows_;                          // Per depth.
};

// Subtracts from the table the least cost for each value of one dimension, and returns these costs.
CostTable TakenAlong(size_t dimension, CostTable& table) {
  const size_t size = static_cast<size_t>(table.sizes[dimension]);
  size_t stride = 1;
  for (size_t d = dimension + 1; d < table.sizes.size(); ++d) stride *= static_cast<size_t>(table.sizes[d]);
  CostTable taken{.sizes = {table.sizes[dimension]}, .costs = std::vector<int64_t>(size, kForbidden)};
  for (size_t i = 0; i < table.costs.size(); ++i) {
    int64_t& least = taken.costs[i / stride % size];
    least = std::min(least, table.costs[i]);
  }
  for (size_t i = 0; i < table.costs.size(); ++i) {
    const int64_t least = taken.costs[i / stride % size];
    // If a value is forbidden for every choice of the other variables, the other table says so already.
    if (table.costs[i] < kForbidden || least == kForbidden) table.costs[i] -= least;
  }
  return taken;
}

}  // namespace

size_t TableStore::Hash::operator()(const CostTable& table) const {
  return absl::HashOf(absl::MakeConstSpan(table.sizes), absl::MakeConstSpan(table.costs));
}

ReducedTable TableStore::Intern(CostTable table) {
  const auto [least, greatest] = std::minmax_element(table.costs.begin(), table.costs.end());
  const int64_t constant = *least;
  if (constant == *greatest) return {.table = -1, .constant = constant};
  for (int64_t& cost : table.costs) {
    if (cost < kForbidden) cost -= constant;
  }
  std::erase(table.sizes, 1);
  const auto [place, is_new] = numbers_.try_emplace(std::move(table), static_cast<int>(tables_.size()));
  if (is_new) tables_.push_back(&place->first);
  return {.table = place->second, .constant = constant};
}

const LeftOver& TableStore::LeaveLast(const BucketForm& form) {
  const auto [place, is_new] = left_.try_emplace(form);
  LeftOver& left = place->second;
  if (!is_new) return left;
  Sweep sweep(*this, form);
  CostTable made{.sizes = sweep.sizes(), .costs = {}};
  made.costs.reserve(static_cast<size_t>(sweep.entries()));
  sweep.AppendLeast(made.costs);
  entries_ += sweep.entries();
  work_ += sweep.work();
  if (form[1] >= 0) left.along = Intern(TakenAlong(static_cast<size_t>(form[1]), made));
  left.rest = Intern(std::move(made));
  return left;
}

const std::vector<int64_t>& TableStore::LeastPerLast(const BucketForm& form) {
  const auto [place, is_new] = least_.try_emplace(form);
  std::vector<int64_t>& least = place->second;
  if (!is_new) return least;
  Sweep sweep(*this, form);
  least.assign(sweep.last_size(), kForbidden);
  sweep.Run([&](absl::Span<const int64_t> row) {
    for (size_t value = 0; value < row.size(); ++value) least[value] = std::min(least[value], row[value]);
  });
  work_ += sweep.work();
  return least;
}

}  // namespace cleave::search
