// Reading guide: where b is stored n x k, elements of c are dot products of rows (Dots); where it is k x n,
// some columns of c are sums of pieces of the rows of b (Combine). Both read b in order, and each number of it once for
// all rows of a, which are converted to f32 before.
#include "runtime/math/onednn/few_rows.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/kernels/cpu/parallel.h"
#include "runtime/kernels/cpu/vectors.h"

namespace cleave::runtime {
namespace {

// Numbers that are loaded together. BFloat16s are pairs in words: shifted to the left, the lower ones are floats, and
// the upper ones are such without the lower.
constexpr int64_t kNumbers = 2 * kLanes;

struct Both {
  Floats first, second;
};

inline Both LoadBoth(const float* from) { return {Load(from), Load(from + kLanes)}; }
inline Both LoadBoth(const BFloat16* from) {
  Bits words;
  std::memcpy(&words, static_cast<const void*>(from), sizeof words);
  return {AsFloats(words << 16), AsFloats(words & 0xFFFF0000u)};
}

// Where number i of kNumbers is in Both.
template <typename In>
int64_t PlaceInBoth(int64_t i) {
  return std::is_same_v<In, float> ? i : i / 2 + i % 2 * kLanes;
}

// sums[r] = the dot product of row r of a, f32[kRows, k], and of b. The numbers of a are where those of b are in Both,
// but for the last k % kNumbers. b is read in order, which is how processors look ahead.
template <int kRows, typename In>
inline void Dots(const float* a, const In* b, int64_t k, float* sums) {
  // So many sums that an addition need not wait for the one before, in registers.
  constexpr int kSteps = kRows == 1 ? 4 : kRows == 2 ? 2 : 1;
  Floats lanes[kRows * 2 * kSteps];
#pragma GCC unroll 32
  for (Floats& sum : lanes) sum = Floats{};
  int64_t i = 0;
  for (; i + kSteps * kNumbers <= k; i += kSteps * kNumbers) {
#pragma GCC unroll 4
    for (int step = 0; step < kSteps; ++step) {
      const Both x = LoadBoth(b + i + step * kNumbers);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const float* const own = a + r * k + i + step * kNumbers;
        lanes[2 * (r * kSteps + step)] += Load(own) * x.first;
        lanes[2 * (r * kSteps + step) + 1] += Load(own + kLanes) * x.second;
      }
    }
  }
  for (; i + kNumbers <= k; i += kNumbers) {
    const Both x = LoadBoth(b + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      lanes[2 * r * kSteps] += Load(a + r * k + i) * x.first;
      lanes[2 * r * kSteps + 1] += Load(a + r * k + i + kLanes) * x.second;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    Floats all = lanes[2 * r * kSteps];
#pragma GCC unroll 8
    for (int s = 1; s < 2 * kSteps; ++s) all += lanes[2 * r * kSteps + s];
    sums[r] = SumOf(all);
    for (int64_t j = i; j < k; ++j) sums[r] += a[r * k + j] * static_cast<float>(b[j]);
  }
}

constexpr int64_t kColumns = 2 * kNumbers;  // That Combine computes together.

// sums[r, j] = the sum over i of a[r, i] * b[i, j], for kColumns columns of b, whose rows have n: where they are in
// Both.
template <int kRows, typename In>
inline void Combine(const float* a, const In* b, int64_t k, int64_t n, float* sums) {
  Floats lanes[kRows * 4];
#pragma GCC unroll 32
  for (int s = 0; s < kRows * 4; ++s) lanes[s] = Floats{};
  for (int64_t i = 0; i < k; ++i) {
    const Both left = LoadBoth(b + i * n), right = LoadBoth(b + i * n + kNumbers);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = a[r * k + i];
      lanes[4 * r] += factor * left.first;
      lanes[4 * r + 1] += factor * left.second;
      lanes[4 * r + 2] += factor * right.first;
      lanes[4 * r + 3] += factor * right.second;
    }
  }
#pragma GCC unroll 32
  for (int s = 0; s < kRows * 4; ++s) Store(lanes[s], sums + s * kLanes);
}

template <int kRows, typename In, typename Out>
void Multiply(bool adds, const MatMulShape& shape, const float* a, const In* b, Out* c, const Out* bias) {
  const int64_t n = shape.n, k = shape.k;
  const auto write = [&](int64_t row, int64_t column, float sum) {
    if (bias != nullptr) sum += static_cast<float>(bias[column]);
    if (adds) sum += static_cast<float>(c[row * n + column]);
    c[row * n + column] = static_cast<Out>(sum);
  };
  // Threads share blocks of columns of all matrices.
  constexpr int64_t kBlock = kColumns;
  const int64_t blocks = (n + kBlock - 1) / kBlock;
#pragma omp parallel for collapse(2) if (shape.batch * n * k >= kParallelElements)
  for (int64_t matrix = 0; matrix < shape.batch; ++matrix) {
    for (int64_t block = 0; block < blocks; ++block) {
      const float* const own_a = a + matrix * kRows * k;
      const In* const own_b = b + matrix * n * k;
      const int64_t begin = block * kBlock, end = std::min(n, begin + kBlock);
      float sums[kRows * kColumns];
      if (shape.transpose_b) {
        for (int64_t column = begin; column < end; ++column) {
          Dots<kRows>(own_a, own_b + column * k, k, sums);
          for (int r = 0; r < kRows; ++r) write(matrix * kRows + r, column, sums[r]);
        }
      } else if (end - begin == kColumns) {
        Combine<kRows>(own_a, own_b + begin, k, n, sums);
        for (int r = 0; r < kRows; ++r) {
          for (int64_t j = 0; j < kColumns; ++j) {
            const int64_t place = j / kNumbers * kNumbers + PlaceInBoth<In>(j % kNumbers);
            write(matrix * kRows + r, begin + j, sums[r * kColumns + place]);
          }
        }
      } else {
        std::fill_n(sums, kRows * kColumns, 0.0f);
        for (int64_t i = 0; i < k; ++i) {
          for (int r = 0; r < kRows; ++r) {
            for (int64_t j = 0; j < end - begin; ++j) {
              sums[r * kColumns + j] += own_a[r * k + i] * static_cast<float>(own_b[i * n + begin + j]);
            }
          }
        }
        for (int r = 0; r < kRows; ++r) {
          for (int64_t j = begin; j < end; ++j) write(matrix * kRows + r, j, sums[r * kColumns + j - begin]);
        }
      }
    }
  }
}

// f32[batch, m, k], as Dots or Combine reads it.
template <typename In>
std::vector<float> InFloat(const MatMulShape& shape, const In* a) {
  std::vector<float> floats(static_cast<size_t>(shape.batch * shape.m * shape.k));
  const int64_t whole = shape.transpose_b ? shape.k / kNumbers * kNumbers : 0;
  float* to = floats.data();
  for (int64_t matrix = 0; matrix < shape.batch; ++matrix, a += shape.m * shape.k) {
    for (int64_t row = 0; row < shape.m; ++row, to += shape.k) {
      for (int64_t i = 0; i < shape.k; ++i) {
        const int64_t place = i < whole ? i / kNumbers * kNumbers + PlaceInBoth<In>(i % kNumbers) : i;
        to[place] = static_cast<float>(a[shape.transpose_a ? i * shape.m + row : row * shape.k + i]);
      }
    }
  }
  return floats;
}

}  // namespace

template <typename In, typename Out>
void MultiplyFewRows(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias) {
  constexpr decltype(&Multiply<1, In, Out>) kByRows[] = {Multiply<1, In, Out>, Multiply<2, In, Out>,
                                                         Multiply<3, In, Out>, Multiply<4, In, Out>};
  static_assert(sizeof kByRows / sizeof kByRows[0] == kFewRows, "one for each number of rows");
  const std::vector<float> floats = InFloat(shape, a);
  kByRows[shape.m - 1](adds, shape, floats.data(), b, c, bias);
}

#define CLEAVE_PRODUCTS(In, Out) \
  template void MultiplyFewRows(bool, const MatMulShape&, const In*, const In*, Out*, const Out*);
CLEAVE_PRODUCTS(float, float)
CLEAVE_PRODUCTS(BFloat16, float)
CLEAVE_PRODUCTS(BFloat16, BFloat16)
#undef CLEAVE_PRODUCTS

}  // namespace cleave::runtime
