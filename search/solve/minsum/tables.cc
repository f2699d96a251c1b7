// Reading guide: TableStore interns tables and memoizes eliminations by their form. Sweep does one: nested loops over
// the kept variables add up the tables of a bucket, and take the least sum over the eliminated variable.
#include "search/solve/minsum/tables.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/hash/hash.h"

namespace cleave::search {
namespace {

// One table of a bucket, with the eliminated variable as its last dimension.
struct Operand {
  std::vector<size_t> strides;       // Per kept variable; 0 where the table does not depend on it.
  bool has_last = false;             // Whether it depends on the eliminated variable.
  size_t depth = 0;                  // The kept variables that it depends on are below this one.
  const int64_t* at = nullptr;       // The entry for the present values, 0 for variables not yet looked at.
  std::vector<int64_t> turned = {};  // Its entries transposed, where that variable is not its last dimension.
};

// The entries of the table with dimension `last` moved behind all others.
std::vector<int64_t> WithLast(size_t last, const CostTable& table) {
  const size_t size = static_cast<size_t>(table.sizes[last]);
  size_t inner = 1;
  for (size_t d = last + 1; d < table.sizes.size(); ++d) inner *= static_cast<size_t>(table.sizes[d]);
  std::vector<int64_t> turned(table.costs.size());
  int64_t* to = turned.data();
  for (const int64_t* outer = table.costs.data(); to < turned.data() + turned.size(); outer += size * inner) {
    for (size_t i = 0; i < inner; ++i) {
      for (size_t value = 0; value < size; ++value) *to++ = outer[value * inner + i];
    }
  }
  return turned;
}

// Adds tables up in nested loops over the kept variables. A row has a sum per value of the eliminated variable; that of
// depth n has the tables that depend on the first n kept variables only, so that each is added as rarely as possible.
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

  // For every choice of the kept variables, in row-major order, the least sum over the values of the eliminated one.
  std::vector<int64_t> Least() {
    std::vector<int64_t> least(static_cast<size_t>(entries()));
    if (sizes_.empty()) {
      const int64_t* row = Summed(rows_.data(), 0);
      least[0] = *std::min_element(row, row + last_size_);
      return least;
    }
    for (const Operand* operand : by_depth_.back()) (operand->has_last ? inner_ : added_).push_back(operand);
    block_.resize(static_cast<size_t>(sizes_.back()) * last_size_);
    int64_t* to = least.data();
    DescendToLeast(0, rows_.data(), to);
    return least;
  }

  const std::vector<int>& sizes() const { return sizes_; }
  size_t last_size() const { return last_size_; }
  int64_t entries() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{1}, std::multiplies<int64_t>());
  }
  int64_t work() const { return entries() * static_cast<int64_t>(last_size_); }

 private:
  void AddOperand(const CostTable& table, absl::Span<const int> places) {
    Operand operand{.strides = std::vector<size_t>(sizes_.size() - 1), .at = table.costs.data()};
    for (size_t d = 0; d < places.size(); ++d) sizes_[static_cast<size_t>(places[d])] = table.sizes[d];
    const auto last = std::find(places.begin(), places.end(), static_cast<int>(operand.strides.size()));
    operand.has_last = last != places.end();
    if (operand.has_last && last + 1 != places.end()) {
      operand.turned = WithLast(static_cast<size_t>(last - places.begin()), table);
      operand.at = operand.turned.data();
    }
    size_t stride = operand.has_last ? static_cast<size_t>(sizes_.back()) : 1;
    for (size_t d = places.size(); d-- > 0;) {
      const size_t variable = static_cast<size_t>(places[d]);
      if (variable == operand.strides.size()) continue;
      operand.strides[variable] = stride;
      operand.depth = std::max(operand.depth, variable + 1);
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
    for (size_t value = 0; value < last_size_; ++value) {
      sums[value] = std::min(row[value] + operand.at[operand.has_last ? value : 0], kForbidden);
    }
    return sums;
  }

  void DescendToLeast(size_t depth, const int64_t* row, int64_t*& to) {
    row = Summed(row, depth);
    const size_t size = static_cast<size_t>(sizes_[depth]);
    if (depth + 1 == sizes_.size()) {
      LeastOfRows(row, to);
      to += size;
      return;
    }
    for (size_t value = 0; value < size; ++value) {
      DescendToLeast(depth + 1, row, to);
      for (Operand* operand : moved_[depth]) operand->at += operand->strides[depth];
    }
    for (Operand* operand : moved_[depth]) operand->at -= size * operand->strides[depth];
  }

  // The least sum for each value of the last kept variable. It and the eliminated one are the last dimensions of tables
  // that depend on both. The last of these is not written into rows, since a sum of two costs cannot overflow.
  void LeastOfRows(const int64_t* row, int64_t* to) {
    const size_t size = static_cast<size_t>(sizes_.back());
    size_t stride = 0;  // From one row to the next.
    for (size_t i = 0; i + 1 < inner_.size(); ++i) {
      for (size_t at = 0; at < block_.size(); at += last_size_) {
        for (size_t value = 0; value < last_size_; ++value) {
          block_[at + value] = std::min(row[value] + inner_[i]->at[at + value], kForbidden);
        }
        row += stride;
      }
      row = block_.data();
      stride = last_size_;
    }
    if (inner_.empty()) {
      std::fill(to, to + size, *std::min_element(row, row + last_size_));
    } else {
      const int64_t* at = inner_.back()->at;
      for (size_t i = 0; i < size; ++i, row += stride, at += last_size_) {
        int64_t least = kForbidden;
        for (size_t value = 0; value < last_size_; ++value) least = std::min(least, row[value] + at[value]);
        to[i] = least;
      }
    }
    for (const Operand* operand : added_) {
      for (size_t i = 0; i < size; ++i) to[i] = std::min(to[i] + operand->at[i], kForbidden);
    }
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
  // Tables that depend on the last kept variable and on the eliminated one, and on the former only.
  std::vector<const Operand*> inner_, added_;
  std::vector<int64_t> block_;  // A row for each value of the last kept variable.
};

// Subtracts from the table the least cost for each value of one dimension, and returns these costs.
CostTable TakenAlong(size_t dimension, CostTable& table) {
  const size_t size = static_cast<size_t>(table.sizes[dimension]);
  size_t stride = 1;
  for (size_t d = dimension + 1; d < table.sizes.size(); ++d) stride *= static_cast<size_t>(table.sizes[d]);
  CostTable taken{.sizes = {table.sizes[dimension]}, .costs = std::vector<int64_t>(size, kForbidden)};
  const auto for_each = [&](const auto& visit) {
    for (auto at = table.costs.begin(); at != table.costs.end();) {
      for (int64_t& least : taken.costs) {
        for (size_t i = 0; i < stride; ++i) visit(*at++, least);
      }
    }
  };
  for_each([](int64_t cost, int64_t& least) { least = std::min(least, cost); });
  for_each([](int64_t& cost, int64_t least) {
    // If a value is forbidden for every choice of the other variables, the other table says so already.
    if (cost < kForbidden || least == kForbidden) cost -= least;
  });
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
  CostTable made{.sizes = sweep.sizes(), .costs = sweep.Least()};
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
