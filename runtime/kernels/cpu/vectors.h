// Vectors of the processor that the compiler writes for, for loops that it does not make vectors of itself.
//
// A number in a vector is the same whatever the number of lanes, so results do not depend on the processor, apart from
// sums over lanes.
#ifndef CLEAVE_RUNTIME_KERNELS_CPU_VECTORS_H_
#define CLEAVE_RUNTIME_KERNELS_CPU_VECTORS_H_

#include <cstdint>
#include <cstring>

#include "runtime/device/bfloat16.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace cleave::runtime {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
typedef uint16_t HalfBits __attribute__((vector_size(2 * kLanes)));

inline Floats AsFloats(Bits bits) { return reinterpret_cast<Floats>(bits); }
inline Bits AsBits(Floats floats) { return reinterpret_cast<Bits>(floats); }

inline Floats Load(const float* from) {
  Floats vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
inline Bits Load(const uint32_t* from) {
  Bits vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
inline void Store(Floats vector, float* to) { std::memcpy(to, &vector, sizeof vector); }
inline void Store(Bits vector, uint32_t* to) { std::memcpy(to, &vector, sizeof vector); }

// The numbers of the lanes, twice; tables are loaded faster than vectors are put together.
struct LaneTable {
  uint32_t numbers[2 * kLanes] = {};

  constexpr LaneTable() {
    for (int i = 0; i < 2 * kLanes; ++i) numbers[i] = static_cast<uint32_t>(i % kLanes);
  }
};
inline constexpr LaneTable kLaneTable;

inline Bits LaneNumbers() { return Load(kLaneTable.numbers); }

inline Floats LargerOf(Floats a, Floats b) { return a > b ? a : b; }

// Lane i of the result is lane from[i] of `low` followed by `high`.
template <typename Vector>
Vector Shuffled(Vector low, Vector high, Bits from) {
#ifdef __clang__  // It makes one instruction of this where `from` is known.
  Vector result;
  for (int i = 0; i < kLanes; ++i) result[i] = from[i] < kLanes ? low[from[i]] : high[from[i] - kLanes];
  return result;
#else
  return __builtin_shuffle(low, high, from);
#endif
}

// What Shuffled takes of two vectors in turn: the lanes of their lower halves, or of their upper ones.
struct Interleaving {
  uint32_t lower[kLanes] = {};
  uint32_t upper[kLanes] = {};

  constexpr Interleaving() {
    for (int i = 0; i < kLanes; ++i) {
      lower[i] = static_cast<uint32_t>(i / 2 + i % 2 * kLanes);
      upper[i] = lower[i] + kLanes / 2;
    }
  }
};
inline constexpr Interleaving kInterleaving;

// Transposes a square of kLanes words. A step turns the address of a word, its row followed by its column, by one bit;
// after as many steps as a row has bits, row and column have changed places.
template <typename AnyWord>
void TransposeSquare(const AnyWord* from, int64_t from_stride, AnyWord* to, int64_t to_stride) {
  const Bits lower = Load(kInterleaving.lower);
  const Bits upper = Load(kInterleaving.upper);
  Bits rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) std::memcpy(&rows[i], from + i * from_stride, sizeof rows[i]);
#pragma GCC unroll 4
  for (int step = 1; step < kLanes; step *= 2) {
    Bits turned[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes / 2; ++i) {
      turned[2 * i] = Shuffled(rows[i], rows[i + kLanes / 2], lower);
      turned[2 * i + 1] = Shuffled(rows[i], rows[i + kLanes / 2], upper);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = turned[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) std::memcpy(to + i * to_stride, &rows[i], sizeof rows[i]);
}

// The lanes turned by `distance`.
inline Floats TurnLanes(Floats vector, int distance) {
  return Shuffled(vector, vector, Load(kLaneTable.numbers + distance));
}

// Over the lanes, by halves.
inline float LargestOf(Floats vector) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) vector = LargerOf(vector, TurnLanes(vector, half));
  return vector[0];
}
inline float SumOf(Floats vector) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) vector += TurnLanes(vector, half);
  return vector[0];
}

// e^x for x <= 0, with the polynomial of Exp (runtime/kernels/elementwise.h); 0 where e^x is not a normal number. A NaN
// stays a NaN. Adding 1.5 * 2^23 to x / ln 2 leaves its whole part in the lowest bits, from where it moves to the
// exponent.
inline Floats ExpOfNegative(Floats x) {
  constexpr float kRound = 12582912.0f;
  constexpr float kLeast = -87.0f;
  const Floats shifted = x * 1.44269504f + kRound;
  const Floats n = shifted - kRound;
  const Floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Floats y = r * 1.9875691500e-4f + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  const Floats power = AsFloats(AsBits(y) + (AsBits(shifted) << 23));
  return x >= kLeast ? power : x < kLeast ? Floats{} : x;
}

// Rounded to BFloat16, in the upper half of each lane; the lower half is not determined.
inline Bits RoundedBits(Floats x) {
  const Bits bits = AsBits(x);
  const Bits rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
  return x == x ? rounded : bits | 0x00400000u;
}

// `kLanes` numbers, rounded.
inline void StoreRounded(Floats x, BFloat16* to) {
#if defined(__AVX512BF16__)
  const __m256bh rounded = _mm512_cvtneps_pbh(x);
#else
  const HalfBits rounded = __builtin_convertvector(RoundedBits(x) >> 16, HalfBits);
#endif
  std::memcpy(static_cast<void*>(to), &rounded, sizeof rounded);
}

// Pairs of numbers, rounded: those of `first` in the lower halves.
inline Bits RoundedPairs(Floats first, Floats second) {
  return (RoundedBits(first) >> 16) | (RoundedBits(second) & 0xFFFF0000u);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CPU_VECTORS_H_
