#include "runtime/kernels/indexing.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"

namespace cleave::runtime {

namespace {

// y[i] = x[i] for `count` elements.
void CopyReals(ConstReals x, int64_t count, Reals y) {
  if (x.type() == y.type()) {
    std::memcpy(y.place(), x.place(), static_cast<size_t>(count * SizeOf(x.type())));
    return;
  }
  for (int64_t i = 0; i < count; ++i) y.Set(i, x[i]);
}

// Calls copy(from, to) for each row that x has, and clear(to) for each other one, with its first elements.
template <typename Copy, typename Clear>
void GatherRows(const int32_t* indices, const RowIndexing& indexing, Copy copy, Clear clear) {
  const int64_t count = indexing.count;
  const int64_t inner = indexing.inner;
  const int64_t outer = indexing.batch * indexing.outer;
#pragma omp parallel for collapse(2) if (outer * count * inner >= kParallelElements)
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices[o / indexing.outer * count + i] - indexing.first_row;
      const int64_t to = (o * count + i) * inner;
      if (row >= 0 && row < indexing.rows) {
        copy((o * indexing.rows + row) * inner, to);
      } else {
        clear(to);
      }
    }
  }
}

// Adds to what y holds.
template <typename T>
void AddRows(const T* updates, const int32_t* indices, const RowIndexing& indexing, float* y) {
  const int64_t rows = indexing.rows;
  const int64_t count = indexing.count;
  const int64_t inner = indexing.inner;
  const int64_t outer = indexing.batch * indexing.outer;
  // Threads share the columns, so that rows are added in one order.
  constexpr int64_t kColumns = 32;
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
#pragma omp parallel for collapse(2) if (outer * count * inner >= kParallelElements)
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t begin = block * kColumns;
      const int64_t end = std::min(inner, begin + kColumns);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = indices[o / indexing.outer * count + i] - indexing.first_row;
        if (row < 0 || row >= rows) continue;
        const T* from = updates + (o * count + i) * inner;
        float* to = y + (o * rows + row) * inner;
#pragma omp simd
        for (int64_t j = begin; j < end; ++j) to[j] += static_cast<float>(from[j]);
      }
    }
  }
}

}  // namespace

void Gather(ConstReals x, const int32_t* indices, const RowIndexing& indexing, Reals y) {
  GatherRows(
      indices, indexing, [&](int64_t from, int64_t to) { CopyReals(x + from, indexing.inner, y + to); },
      [&](int64_t to) {
        for (int64_t i = 0; i < indexing.inner; ++i) y.Set(to + i, 0.0f);
      });
}

void Gather(const int32_t* x, const int32_t* indices, const RowIndexing& indexing, int32_t* y) {
  GatherRows(
      indices, indexing, [&](int64_t from, int64_t to) { std::copy_n(x + from, indexing.inner, y + to); },
      [&](int64_t to) { std::fill_n(y + to, indexing.inner, 0); });
}

void ScatterAdd(ConstReals updates, const int32_t* indices, const RowIndexing& indexing, float* y) {
  AccumulateScatterAdd(true, updates, indices, indexing, y);
}

void AccumulateScatterAdd(bool is_first, ConstReals updates, const int32_t* indices, const RowIndexing& indexing,
                          float* y) {
  if (is_first) std::fill_n(y, indexing.batch * indexing.outer * indexing.rows * indexing.inner, 0.0f);
  switch (updates.type()) {
    case RealType::kF32:
      return AddRows(updates.As<float>(), indices, indexing, y);
    case RealType::kBf16:
      return AddRows(updates.As<BFloat16>(), indices, indexing, y);
    case RealType::kF16:
      return AddRows(updates.As<Float16>(), indices, indexing, y);
    case RealType::kI8:  // Nothing that is computed.
    case RealType::kI32:
      return;
  }
}

void Scatter(ConstReals x, ConstReals updates, const int32_t* indices, const RowIndexing& indexing, Reals y) {
  const int64_t rows = indexing.rows;
  const int64_t count = indexing.count;
  const int64_t inner = indexing.inner;
  const int64_t outer = indexing.batch * indexing.outer;
  if (y.place() != x.place()) CopyReals(x, outer * rows * inner, y);
  for (int64_t o = 0; o < outer; ++o) {
    const int32_t* const own = indices + o / indexing.outer * count;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = own[i] - indexing.first_row;
      if (row >= 0 && row < rows) CopyReals(updates + (o * count + i) * inner, inner, y + (o * rows + row) * inner);
    }
  }
}

void Distinct(const int32_t* indices, int64_t count, int64_t rows, int32_t* y) {
  std::unordered_set<int32_t> seen(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int32_t index = indices[i];
    y[i] = index >= 0 && index < rows && seen.insert(index).second ? index : -1;
  }
}

void SumEqual(const float* x, const int32_t* indices, const int32_t* places, int64_t count, int64_t inner, float* y) {
  std::unordered_map<int32_t, int64_t> place_of(static_cast<size_t>(count));
  std::fill_n(y, count * inner, 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    if (places[i] >= 0) place_of.emplace(places[i], i);
    const auto found = place_of.find(indices[i]);
    if (found == place_of.end()) continue;
    const float* from = x + i * inner;
    float* to = y + found->second * inner;
#pragma omp simd
    for (int64_t j = 0; j < inner; ++j) to[j] += from[j];
  }
}

void GroupBy(const int32_t* x, int64_t rows, int64_t columns, const GroupPlaces& places, int32_t* y) {
  const int64_t places_of_row = places.groups * places.capacity;
#pragma omp parallel for if (rows * columns >= kParallelElements)
  for (int64_t row = 0; row < rows; ++row) {
    int32_t* const own = y + row * places_of_row;
    std::fill_n(own, places_of_row, static_cast<int32_t>(columns));
    std::vector<int64_t> next(static_cast<size_t>(places.groups), -places.first_place);
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t group = x[row * columns + column] - places.first_group;
      if (group < 0 || group >= places.groups) continue;
      const int64_t place = next[static_cast<size_t>(group)]++;
      if (place >= 0 && place < places.capacity) own[group * places.capacity + place] = static_cast<int32_t>(column);
    }
  }
}

void OneHot(const int32_t* classes, int64_t count, int64_t depth, int64_t first, float* y) {
  std::fill_n(y, count * depth, 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = classes[i] - first;
    if (place >= 0 && place < depth) y[i * depth + place] = 1.0f;
  }
}

}  // namespace cleave::runtime
