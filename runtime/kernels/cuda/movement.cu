#include <algorithm>
#include <type_traits>

#include "runtime/device/bfloat16.h"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/float16.h"
#include "runtime/device/float8.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"
#include "runtime/kernels/cuda/aligned.cuh"
#include "runtime/kernels/cuda/walk.cuh"
#include "runtime/kernels/movement.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

std::vector<int64_t> Strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

int64_t Offset(const std::vector<int64_t>& begin, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < begin.size(); ++d) offset += begin[d] * strides[d];
  return offset;
}

// Drops dimensions of one element and joins neighbours that lie one after another in both tensors.
Walk Simplified(const std::vector<int64_t>& size, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  Walk walk;
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] == 1) continue;
    const int last = walk.rank - 1;
    const bool joins = last >= 0 && walk.from[last] == from[d] * size[d] && walk.to[last] == to[d] * size[d];
    if (!joins && walk.rank == kMostDimensions) {
      Die(ExitCode::kInternal, Format("a tensor of %zu dimensions to be moved, more than %d of them separately",
                                      size.size(), kMostDimensions));
    }
    const int at = joins ? last : walk.rank++;
    walk.size[at] = joins ? walk.size[at] * size[d] : size[d];
    walk.from[at] = from[d];
    walk.to[at] = to[d];
  }
  return walk;
}

template <typename Unit>
void LaunchCopy(const void* source, const Walk& walk, void* target) {
  const int64_t count = walk.Count();
  const auto kernel = count <= UINT32_MAX ? CopyUnits<Unit, uint32_t> : CopyUnits<Unit, uint64_t>;
  Launch(kernel, ForElements(count), static_cast<const Unit*>(source), walk, count, static_cast<Unit*>(target));
}

// Copies a walk whose last dimension is contiguous in both tensors, in the largest units that divide all its runs.
void CopyRunsOfWalk(const char* source, Walk walk, int64_t element_bytes, char* target) {
  const int last = walk.rank - 1;
  uint64_t bytes = reinterpret_cast<uintptr_t>(source) | reinterpret_cast<uintptr_t>(target) | kVectorBytes |
                   static_cast<uint64_t>(walk.size[last] * element_bytes);
  for (int d = 0; d < last; ++d) bytes |= static_cast<uint64_t>((walk.from[d] | walk.to[d]) * element_bytes);
  const int64_t unit = static_cast<int64_t>(bytes & ~(bytes - 1));  // The lowest bit that is set.
  walk.size[last] = walk.size[last] * element_bytes / unit;
  for (int d = 0; d < last; ++d) {
    walk.from[d] = walk.from[d] * element_bytes / unit;
    walk.to[d] = walk.to[d] * element_bytes / unit;
  }
  if (unit == 16) return LaunchCopy<Vector<uint32_t, 4>>(source, walk, target);
  if (unit == 8) return LaunchCopy<Vector<uint32_t, 2>>(source, walk, target);
  if (unit == 4) return LaunchCopy<uint32_t>(source, walk, target);
  if (unit == 2) return LaunchCopy<uint16_t>(source, walk, target);
  LaunchCopy<uint8_t>(source, walk, target);
}

template <typename Unit>
void LaunchExchange(const void* source, const Walk& walk, int rows, void* target) {
  TileExchange exchange;
  for (int d = 0; d < walk.rank; ++d) {
    if (d == rows) {
      exchange.rows = walk.size[d];
      exchange.to_row = walk.to[d];
    } else if (d == walk.rank - 1) {
      exchange.columns = walk.size[d];
      exchange.from_column = walk.from[d];
    } else {
      const int at = exchange.others.rank++;
      exchange.others.size[at] = walk.size[d];
      exchange.others.from[at] = walk.from[d];
      exchange.others.to[at] = walk.to[d];
    }
  }
  const int64_t matrices = exchange.others.Count();
  const int64_t tiles = ((exchange.rows + kTile - 1) / kTile) * ((exchange.columns + kTile - 1) / kTile);
  Launch(ExchangeTiles<Unit>, {std::min(matrices * tiles, int64_t{1} << 30), kTileThreads},
         static_cast<const Unit*>(source), exchange, matrices, static_cast<Unit*>(target));
}

// The dimension that is contiguous in the source, if it pays to copy tiles of it and of the last dimension, which is
// contiguous in the target, in spite of their barriers; else -1.
int TileRows(const Walk& walk) {
  constexpr int64_t kWorthATile = 8;
  for (int d = 0; d + 1 < walk.rank; ++d) {
    if (walk.from[d] == 1 && walk.to[walk.rank - 1] == 1 && walk.size[d] >= kWorthATile &&
        walk.size[walk.rank - 1] >= kWorthATile) {
      return d;
    }
  }
  return -1;
}

template <typename T>
void CopyWalk(const T* source, const Walk& walk, T* target) {
  static_assert(sizeof(T) <= 2 || sizeof(T) == 4, "elements that are moved as one unit");
  using Unit = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  const int last = walk.rank - 1;
  const bool has_runs = last < 0 || (walk.from[last] == 1 && walk.to[last] == 1);
  if (has_runs && walk.rank <= 1) return Copy(source, walk.Count(), target);
  if (has_runs) {
    return CopyRunsOfWalk(reinterpret_cast<const char*>(source), walk, sizeof(T), reinterpret_cast<char*>(target));
  }
  const int rows = TileRows(walk);
  if (rows >= 0) return LaunchExchange<Unit>(source, walk, rows, target);
  LaunchCopy<Unit>(source, walk, target);
}

// Copies `vectors` vectors and then the elements up to `count`.
template <typename T, int kCount>
__global__ void FillElements(T value, int64_t vectors, int64_t count, T* target) {
  Vector<T, kCount> vector;
#pragma unroll
  for (int k = 0; k < kCount; ++k) vector[k] = value;
  for (int64_t i = FirstElement(); i < vectors; i += ElementStride()) Store(vector, target + i * kCount);
  for (int64_t i = vectors * kCount + FirstElement(); i < count; i += ElementStride()) target[i] = value;
}

// Of the whole matrix, from the first up to the end.
struct KeptColumns {
  int64_t first;
  int64_t end;
};

// What row r of matrix m keeps behind a causal mask.
struct CausalSight {
  int64_t first_row;
  int64_t window;

  __device__ KeptColumns Of(int64_t, int64_t r) const {
    const int64_t row = first_row + r;
    return {window == 0 ? 0 : row + 1 - window, row + 1};
  }
};

struct GivenSight {
  const int32_t* first;
  const int32_t* end;
  int64_t heads;
  int64_t rows;

  __device__ KeptColumns Of(int64_t m, int64_t r) const {
    const int64_t row = m / heads * rows + r;
    return {first[row], end[row]};
  }
};

template <typename T, int kCount, typename Sight>
__global__ void MaskVectors(const T* x, int64_t vectors, int64_t rows, int64_t vectors_per_row, int64_t first_column,
                            Sight sight, T fill, T* y) {
  for (int64_t i = FirstElement(); i < vectors; i += ElementStride()) {
    const int64_t row = i / vectors_per_row;
    const int64_t column = first_column + (i - row * vectors_per_row) * kCount;
    const KeptColumns kept = sight.Of(row / rows, row % rows);
    Vector<T, kCount> values = Load<kCount>(x + i * kCount);
#pragma unroll
    for (int k = 0; k < kCount; ++k) values[k] = column + k >= kept.first && column + k < kept.end ? values[k] : fill;
    Store(values, y + i * kCount);
  }
}

__global__ void AddUpInTesting(Scalar<uint64_t> step, const float* x, int64_t count, double* kept, float* y) {
  const bool adds = step.Get() == 0;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) {
    y[i] = adds ? static_cast<float>(kept[i] += static_cast<double>(x[i])) : x[i];
  }
}

__global__ void ChooseByStep(Scalar<uint64_t> step, const float* x, const float* otherwise, int64_t count, float* y) {
  const float* const source = step.Get() == 0 ? otherwise : x;
  for (int64_t i = FirstElement(); i < count; i += ElementStride()) y[i] = source[i];
}

template <typename T>
constexpr int kPerVector = kVectorBytes / static_cast<int>(sizeof(T));

template <typename T, typename Sight>
void Mask(const T* x, int64_t matrices, int64_t rows, int64_t columns, int64_t first_column, Sight sight, float fill,
          T* y) {
  const int64_t elements = matrices * rows * columns;
  if (AreAligned(x, y) && columns % kPerVector<T> == 0) {
    const int64_t vectors = elements / kPerVector<T>;
    return Launch(MaskVectors<T, kPerVector<T>, Sight>, ForElements(vectors), x, vectors, rows, columns / kPerVector<T>,
                  first_column, sight, T(fill), y);
  }
  Launch(MaskVectors<T, 1, Sight>, ForElements(elements), x, elements, rows, columns, first_column, sight, T(fill), y);
}

}  // namespace

template <typename T>
void Copy(const T* source, int64_t count, T* target) {
  CopyBytes(source, target, count * static_cast<int64_t>(sizeof(T)));
}

template <typename T>
void Fill(T value, int64_t count, T* target) {
  const int64_t vectors = AreAligned(target) ? count / kPerVector<T> : 0;
  Launch(FillElements<T, kPerVector<T>>, ForElements(vectors > 0 ? vectors : count), value, vectors, count, target);
}

template <typename T>
void CopyBox(const T* source, const std::vector<int64_t>& shape, const std::vector<int64_t>& begin,
             const std::vector<int64_t>& size, T* target) {
  if (ElementCount(size) == 0) return;
  const std::vector<int64_t> strides = Strides(shape);
  CopyWalk(source + Offset(begin, strides), Simplified(size, strides, Strides(size)), target);
}

template <typename T>
void PasteBox(const T* source, const std::vector<int64_t>& size, const std::vector<int64_t>& begin,
              const std::vector<int64_t>& shape, T* target) {
  if (ElementCount(size) == 0) return;
  const std::vector<int64_t> strides = Strides(shape);
  CopyWalk(source, Simplified(size, Strides(size), strides), target + Offset(begin, strides));
}

template <typename T>
void Transpose(const T* source, const std::vector<int64_t>& shape, const std::vector<int>& permutation, T* target) {
  if (ElementCount(shape) == 0) return;
  const std::vector<int64_t> strides = Strides(shape);
  std::vector<int64_t> size;
  std::vector<int64_t> from;
  for (const int d : permutation) {
    size.push_back(shape[static_cast<size_t>(d)]);
    from.push_back(strides[static_cast<size_t>(d)]);
  }
  CopyWalk(source, Simplified(size, from, Strides(size)), target);
}

template <typename T>
void MoveZigzag(const T* x, int64_t outer, int64_t elements, int64_t pairs, bool inverse, T* y) {
  const int64_t chunk = elements / (2 * pairs);
  if (outer * elements == 0) return;
  // The first chunks of all pairs lie one behind another, and behind them the second ones, the last first.
  for (const int64_t slot : {int64_t{0}, int64_t{1}}) {
    const int64_t own = slot == 0 ? 0 : (2 * pairs - 1) * chunk;
    const int64_t step = slot == 0 ? chunk : -chunk;
    const std::vector<int64_t> size = {outer, pairs, chunk};
    const std::vector<int64_t> in_order = {elements, step, 1};
    const std::vector<int64_t> in_pairs = {elements, 2 * chunk, 1};
    const T* const from = x + (inverse ? slot * chunk : own);
    T* const to = y + (inverse ? own : slot * chunk);
    CopyWalk(from, Simplified(size, inverse ? in_pairs : in_order, inverse ? in_order : in_pairs), to);
  }
}

template <typename T>
void MovePieces(const T* x, int64_t outer, int64_t elements, int64_t pieces, int64_t turn, T* y) {
  const int64_t before = elements / pieces * turn;
  if (outer * elements == 0) return;
  const std::vector<int64_t> strides = {elements, 1};
  const auto move = [&](int64_t from, int64_t to, int64_t count) {
    if (count == 0) return;
    const std::vector<int64_t> size = {outer, count};
    CopyWalk(x + from, Simplified(size, strides, strides), y + to);
  };
  move(before, 0, elements - before);
  move(0, elements - before, before);
}

template <typename T>
void CausalMask(const T* x, int64_t matrices, int64_t rows, int64_t columns, int64_t first_row, int64_t first_column,
                int64_t window, float fill, T* y) {
  Mask(x, matrices, rows, columns, first_column, CausalSight{first_row, window}, fill, y);
}

template <typename T>
void RangeMask(const T* x, int64_t samples, int64_t heads, int64_t rows, int64_t columns, int64_t first_column,
               const int32_t* first, const int32_t* end, float fill, T* y) {
  Mask(x, samples * heads, rows, columns, first_column, GivenSight{first, end, heads, rows}, fill, y);
}

void WhileTraining(const Scalar<uint64_t>& step, const float* x, const float* otherwise, int64_t count, float* y) {
  Launch(ChooseByStep, ForElements(count), step, x, otherwise, count, y);
}

void AddToTotal(const Scalar<uint64_t>& step, const float* x, int64_t count, double* kept, float* y) {
  Launch(AddUpInTesting, ForElements(count), step, x, count, kept, y);
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
