#include "runtime/kernels/movement.h"

#include <algorithm>
#include <cstring>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/float8.h"
#include "runtime/kernels/cpu/parallel.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// Dimensions of a walk over a box: sizes, and strides in the two tensors.
struct Walk {
  std::vector<int64_t> size;
  std::vector<int64_t> from;
  std::vector<int64_t> to;
};

std::vector<int64_t> Strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Drops dimensions of one element and joins neighbours that lie one after another in both tensors.
Walk Simplified(const Walk& walk) {
  Walk simple;
  for (size_t d = 0; d < walk.size.size(); ++d) {
    if (walk.size[d] == 1) continue;
    if (!simple.size.empty() && simple.from.back() == walk.from[d] * walk.size[d] &&
        simple.to.back() == walk.to[d] * walk.size[d]) {
      simple.size.back() *= walk.size[d];
      simple.from.back() = walk.from[d];
      simple.to.back() = walk.to[d];
    } else {
      simple.size.push_back(walk.size[d]);
      simple.from.push_back(walk.from[d]);
      simple.to.push_back(walk.to[d]);
    }
  }
  if (simple.size.empty()) simple = {{1}, {1}, {1}};
  return simple;
}

template <typename T>
void CopyWalk(const T* source, const Walk& all, T* target) {
  const int64_t elements = ElementCount(all.size);
  if (elements == 0) return;
  const Walk walk = Simplified(all);
  const size_t last = walk.size.size() - 1;
  const int64_t run = walk.size[last];
  const int64_t from_step = walk.from[last];
  const int64_t to_step = walk.to[last];
  const int64_t runs = elements / run;
#pragma omp parallel for if (elements >= kParallelElements)
  for (int64_t i = 0; i < runs; ++i) {
    const T* from = source;
    T* to = target;
    int64_t rest = i;
    for (size_t d = last; d-- > 0;) {
      from += rest % walk.size[d] * walk.from[d];
      to += rest % walk.size[d] * walk.to[d];
      rest /= walk.size[d];
    }
    if (from_step == 1 && to_step == 1) {
      std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(run) * sizeof(T));
    } else {
      for (int64_t j = 0; j < run; ++j) to[j * to_step] = from[j * from_step];
    }
  }
}

int64_t Offset(const std::vector<int64_t>& begin, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < begin.size(); ++d) offset += begin[d] * strides[d];
  return offset;
}

// Of the whole matrix, from the first up to the end.
struct KeptColumns {
  int64_t first;
  int64_t end;
};

// What row `row` keeps behind a causal mask.
KeptColumns SightOf(int64_t row, int64_t window) { return {window == 0 ? 0 : row + 1 - window, row + 1}; }

// y = x in the columns that kept(matrix, row) says, and `fill` elsewhere.
template <typename T, typename Kept>
void MaskRows(const T* x, int64_t matrices, int64_t rows, int64_t columns, int64_t first_column, float fill, T* y,
              Kept kept) {
#pragma omp parallel for collapse(2) if (matrices * rows * columns >= kParallelElements)
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t r = 0; r < rows; ++r) {
      const KeptColumns of_row = kept(m, r);
      const int64_t row = (m * rows + r) * columns;
      const int64_t begin = std::clamp<int64_t>(of_row.first - first_column, 0, columns);
      const int64_t end = std::clamp<int64_t>(of_row.end - first_column, begin, columns);
      std::fill(y + row, y + row + begin, T(fill));
      std::copy(x + row + begin, x + row + end, y + row + begin);
      std::fill(y + row + end, y + row + columns, T(fill));
    }
  }
}

}  // namespace

template <typename T>
void Copy(const T* source, int64_t count, T* target) {
  CopyWalk(source, {{count}, {1}, {1}}, target);
}

template <typename T>
void Fill(T value, int64_t count, T* target) {
  std::fill(target, target + count, value);
}

template <typename T>
void CopyBox(const T* source, const std::vector<int64_t>& shape, const std::vector<int64_t>& begin,
             const std::vector<int64_t>& size, T* target) {
  if (ElementCount(size) == 0) return;
  const std::vector<int64_t> strides = Strides(shape);
  CopyWalk(source + Offset(begin, strides), {size, strides, Strides(size)}, target);
}

template <typename T>
void PasteBox(const T* source, const std::vector<int64_t>& size, const std::vector<int64_t>& begin,
              const std::vector<int64_t>& shape, T* target) {
  if (ElementCount(size) == 0) return;
  const std::vector<int64_t> strides = Strides(shape);
  CopyWalk(source, {size, Strides(size), strides}, target + Offset(begin, strides));
}

template <typename T>
void Transpose(const T* source, const std::vector<int64_t>& shape, const std::vector<int>& permutation, T* target) {
  const std::vector<int64_t> strides = Strides(shape);
  Walk walk;
  for (const int d : permutation) {
    walk.size.push_back(shape[static_cast<size_t>(d)]);
    walk.from.push_back(strides[static_cast<size_t>(d)]);
  }
  walk.to = Strides(walk.size);
  CopyWalk(source, walk, target);
}

template <typename T>
void MoveZigzag(const T* x, int64_t outer, int64_t elements, int64_t pairs, bool inverse, T* y) {
  const int64_t chunk = elements / (2 * pairs);
  // The first chunks of all pairs lie one behind another, and behind them the second ones, the last first.
  for (const int64_t slot : {int64_t{0}, int64_t{1}}) {
    const int64_t own = slot == 0 ? 0 : (2 * pairs - 1) * chunk;
    const int64_t step = slot == 0 ? chunk : -chunk;
    const std::vector<int64_t> size = {outer, pairs, chunk};
    const std::vector<int64_t> in_order = {elements, step, 1};
    const std::vector<int64_t> in_pairs = {elements, 2 * chunk, 1};
    const T* const from = x + (inverse ? slot * chunk : own);
    T* const to = y + (inverse ? own : slot * chunk);
    CopyWalk(from, Walk{size, inverse ? in_pairs : in_order, inverse ? in_order : in_pairs}, to);
  }
}

template <typename T>
void MovePieces(const T* x, int64_t outer, int64_t elements, int64_t pieces, int64_t turn, T* y) {
  const int64_t before = elements / pieces * turn;
  const std::vector<int64_t> strides = {elements, 1};
  const auto move = [&](int64_t from, int64_t to, int64_t count) {
    if (count == 0) return;
    const std::vector<int64_t> size = {outer, count};
    CopyWalk(x + from, Walk{size, strides, strides}, y + to);
  };
  move(before, 0, elements - before);
  move(0, elements - before, before);
}

template <typename T>
void CausalMask(const T* x, int64_t matrices, int64_t rows, int64_t columns, int64_t first_row, int64_t first_column,
                int64_t window, float fill, T* y) {
  MaskRows(x, matrices, rows, columns, first_column, fill, y,
           [=](int64_t, int64_t r) { return SightOf(first_row + r, window); });
}

template <typename T>
void RangeMask(const T* x, int64_t samples, int64_t heads, int64_t rows, int64_t columns, int64_t first_column,
               const int32_t* first, const int32_t* end, float fill, T* y) {
  MaskRows(x, samples * heads, rows, columns, first_column, fill, y, [=](int64_t m, int64_t r) {
    const int64_t row = m / heads * rows + r;
    return KeptColumns{first[row], end[row]};
  });
}

void WhileTraining(const Scalar<uint64_t>& step, const float* x, const float* otherwise, int64_t count, float* y) {
  std::copy_n(step.Get() == 0 ? otherwise : x, count, y);
}

void AddToTotal(const Scalar<uint64_t>& step, const float* x, int64_t count, double* kept, float* y) {
  if (step.Get() != 0) {
    std::copy_n(x, count, y);
    return;
  }
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(kept[i] += static_cast<double>(x[i]));
}

#define CLEAVE_MOVEMENT_OF(T)                                                                  \
  template void Copy(const T*, int64_t, T*);                                                   \
  template void Fill(T, int64_t, T*);                                                          \
  template void CopyBox(const T*, const std::vector<int64_t>&, const std::vector<int64_t>&,    \
                        const std::vector<int64_t>&, T*);                                      \
  template void PasteBox(const T*, const std::vector<int64_t>&, const std::vector<int64_t>&,   \
                         const std::vector<int64_t>&, T*);                                     \
  template void Transpose(const T*, const std::vector<int64_t>&, const std::vector<int>&, T*); \
  template void MoveZigzag(const T*, int64_t, int64_t, int64_t, bool, T*);                     \
  template void MovePieces(const T*, int64_t, int64_t, int64_t, int64_t, T*);
CLEAVE_MOVEMENT_OF(float)
CLEAVE_MOVEMENT_OF(int32_t)
CLEAVE_MOVEMENT_OF(int8_t)
CLEAVE_MOVEMENT_OF(BFloat16)
CLEAVE_MOVEMENT_OF(Float16)
CLEAVE_MOVEMENT_OF(Float8E4M3)
CLEAVE_MOVEMENT_OF(Float8E5M2)
#undef CLEAVE_MOVEMENT_OF
#define CLEAVE_MASKS_OF(T)                                                                                       \
  template void CausalMask(const T*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, float, T*);           \
  template void RangeMask(const T*, int64_t, int64_t, int64_t, int64_t, int64_t, const int32_t*, const int32_t*, \
                          float, T*);
CLEAVE_MASKS_OF(float)
CLEAVE_MASKS_OF(BFloat16)
CLEAVE_MASKS_OF(Float16)
#undef CLEAVE_MASKS_OF

}  // namespace cleave::runtime
