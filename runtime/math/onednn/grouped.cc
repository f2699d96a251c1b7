// Products by groups as ordinary products: the rows of a group are taken in blocks, which are copied to stand together,
// and copied back. The library prepares a product for each number of rows, so a block is filled up with zeros to a
// multiple of kStep rows. Rows that stand together are not copied.
#include "runtime/math/grouped.h"

#include <algorithm>
#include <vector>

#include "runtime/device/workspace.h"
#include "runtime/math/math.h"
#include "runtime/math/onednn/few_rows.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kStep = 16;
constexpr int64_t kMostRows = 512;  // Of a block: the copies stay in the caches.

int64_t Padded(int64_t rows) { return (rows + kStep - 1) / kStep * kStep; }

// Some rows of one group.
struct Block {
  int64_t group = 0;  // Counted from the first that has a matrix; the number of these for rows without one.
  const int64_t* rows = nullptr;
  int64_t count = 0;

  bool StandTogether() const { return rows[count - 1] - rows[0] == count - 1; }
};

// Calls visit(block) for all rows, group by group, each group's in their order.
template <typename Visit>
void ForEachBlock(const GroupedShape& shape, const int32_t* groups, Visit visit) {
  const auto group_of = [&](int64_t row) {
    const int64_t group = groups[row] - shape.first_group;
    return static_cast<size_t>(group >= 0 && group < shape.groups ? group : shape.groups);
  };
  // Where the next row of each group goes, and in the end where its rows end.
  std::vector<int64_t> ends(static_cast<size_t>(shape.groups) + 2, 0);
  for (int64_t row = 0; row < shape.rows; ++row) ++ends[group_of(row) + 1];
  for (size_t group = 1; group < ends.size(); ++group) ends[group] += ends[group - 1];
  std::vector<int64_t> rows(static_cast<size_t>(shape.rows));
  for (int64_t row = 0; row < shape.rows; ++row) rows[static_cast<size_t>(ends[group_of(row)]++)] = row;
  int64_t begin = 0;
  for (int64_t group = 0; group <= shape.groups; ++group) {
    for (const int64_t end = ends[static_cast<size_t>(group)]; begin < end;) {
      const Block block = {group, rows.data() + begin, std::min(kMostRows, end - begin)};
      visit(block);
      begin += block.count;
    }
  }
}

// The rows of a block of x [.., columns], and zeros up to `count` of them: where they stand, or a copy.
template <typename T>
class BlockRows {
 public:
  BlockRows(const T* x, const Block& block, int64_t columns, int64_t count) {
    if (count == block.count && block.StandTogether()) {
      values_ = x + block.rows[0] * columns;
      return;
    }
    copy_.resize(static_cast<size_t>(count * columns));
    for (int64_t i = 0; i < block.count; ++i) {
      std::copy_n(x + block.rows[i] * columns, columns, copy_.data() + i * columns);
    }
    values_ = copy_.data();
  }

  const T* values() const { return values_; }

 private:
  const T* values_ = nullptr;
  WorkspaceVector<T> copy_;
};

}  // namespace

template <typename In, typename Out>
void GroupedMatMul(const GroupedShape& shape, const In* x, const In* weights, const int32_t* groups, Out* y) {
  WorkspaceVector<Out> made;
  ForEachBlock(shape, groups, [&](const Block& block) {
    if (block.group == shape.groups) {
      for (int64_t i = 0; i < block.count; ++i) std::fill_n(y + block.rows[i] * shape.n, shape.n, Out(0.0f));
      return;
    }
    MatMulShape product = {.m = block.count, .n = shape.n, .k = shape.k, .transpose_b = shape.transpose_b};
    if (!HasFewRows(product)) product.m = Padded(block.count);
    const BlockRows<In> rows(x, block, shape.k, product.m);
    const In* const weight = weights + block.group * shape.k * shape.n;
    if (product.m == block.count && block.StandTogether()) {
      return MatMul(product, rows.values(), weight, y + block.rows[0] * shape.n);
    }
    made.resize(static_cast<size_t>(product.m * shape.n));
    MatMul(product, rows.values(), weight, made.data());
    for (int64_t i = 0; i < block.count; ++i) {
      std::copy_n(made.data() + i * shape.n, shape.n, y + block.rows[i] * shape.n);
    }
  });
}

template <typename In>
void GroupedMatMulSum(const GroupedShape& shape, const In* a, const In* b, const int32_t* groups, float* y) {
  const int64_t elements = shape.k * shape.n;
  int64_t next = 0;  // The first group without a sum so far.
  const auto clear_up_to = [&](int64_t group) {
    std::fill(y + next * elements, y + std::max(next, group) * elements, 0.0f);
    next = group;
  };
  ForEachBlock(shape, groups, [&](const Block& block) {
    if (block.group == shape.groups) return;
    const bool is_first = block.group >= next;
    if (is_first) clear_up_to(block.group);
    next = block.group + 1;
    const MatMulShape product = {.m = shape.k, .n = shape.n, .k = Padded(block.count), .transpose_a = true};
    AccumulateMatMul(is_first, product, BlockRows<In>(a, block, shape.k, product.k).values(),
                     BlockRows<In>(b, block, shape.n, product.k).values(), y + block.group * elements);
  });
  clear_up_to(shape.groups);
}

#define CLEAVE_PRODUCTS(In, Out) \
  template void GroupedMatMul(const GroupedShape&, const In*, const In*, const int32_t*, Out*);
CLEAVE_PRODUCTS(float, float)
CLEAVE_PRODUCTS(BFloat16, float)
CLEAVE_PRODUCTS(BFloat16, BFloat16)
CLEAVE_PRODUCTS(Float16, float)
CLEAVE_PRODUCTS(Float16, Float16)
#undef CLEAVE_PRODUCTS
template void GroupedMatMulSum(const GroupedShape&, const float*, const float*, const int32_t*, float*);
template void GroupedMatMulSum(const GroupedShape&, const BFloat16*, const BFloat16*, const int32_t*, float*);
template void GroupedMatMulSum(const GroupedShape&, const Float16*, const Float16*, const int32_t*, float*);

}  // namespace cleave::runtime
