// The language of code for the device: qualifiers, vector types, the place of a thread, barriers, shuffles, intrinsics.
#ifndef STAND_IN_IN_KERNELS_H_
#define STAND_IN_IN_KERNELS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// A host thread runs a block from its beginning to its end, so variables of the thread belong to the block.
#define __shared__ static thread_local

// The block's shared memory of the size that the launch asked for; replaces `extern __shared__` of nvcc.
unsigned char* StandInDynamicShared();

// --- Vectors ---------------------------------------------------------------------------------------------------------

#define STAND_IN_VECTOR(T, name)                                     \
  struct name##1 {                                                   \
    T x;                                                             \
  };                                                                 \
  struct alignas(2 * sizeof(T)) name##2 {                            \
    T x, y;                                                          \
  };                                                                 \
  struct name##3 {                                                   \
    T x, y, z;                                                       \
  };                                                                 \
  struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) name##4 {       \
    T x, y, z, w;                                                    \
  };                                                                 \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

STAND_IN_VECTOR(float, float)
STAND_IN_VECTOR(double, double)
STAND_IN_VECTOR(int, int)
STAND_IN_VECTOR(unsigned, uint)
STAND_IN_VECTOR(short, short)
STAND_IN_VECTOR(unsigned short, ushort)
STAND_IN_VECTOR(unsigned char, uchar)
STAND_IN_VECTOR(long long, longlong)
STAND_IN_VECTOR(unsigned long long, ulonglong)
#undef STAND_IN_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}  // NOLINT: implicit, as there.
};

// --- Where a thread is -----------------------------------------------------------------------------------------------

inline thread_local uint3 threadIdx = {0, 0, 0};
inline thread_local uint3 blockIdx = {0, 0, 0};
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;
constexpr int warpSize = 32;

// --- Barriers and shuffles -------------------------------------------------------------------------------------------

void __syncthreads();
void __syncwarp(unsigned mask = 0xFFFFFFFFu);  // Only full masks are allowed, here and below.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

unsigned __ballot_sync(unsigned mask, int predicate);
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

// The bits that lane `source` of the calling thread's warp gives in the same call.
uint64_t StandInExchange(unsigned mask, uint64_t bits, int source);
int StandInLane();

template <typename T>
T StandInShuffle(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "what a shuffle can carry");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = StandInExchange(mask, bits, source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// `width` divides a warp into segments that do not see each other.
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = StandInLane();
  return StandInShuffle(mask, value, lane / width * width + (source & (width - 1)));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = StandInLane();
  const bool inside = lane % width + static_cast<int>(delta) < width;
  return StandInShuffle(mask, value, inside ? lane + static_cast<int>(delta) : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = StandInLane();
  const bool inside = lane % width >= static_cast<int>(delta);
  return StandInShuffle(mask, value, inside ? lane - static_cast<int>(delta) : lane);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const int lane = StandInLane();
  const int source = lane ^ lanes;
  return StandInShuffle(mask, value, source < (lane / width + 1) * width ? source : lane);
}

// --- Arithmetic ------------------------------------------------------------------------------------------------------

#define STAND_IN_EXTREMES(T)                       \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
STAND_IN_EXTREMES(int)
STAND_IN_EXTREMES(unsigned)
STAND_IN_EXTREMES(long)
STAND_IN_EXTREMES(unsigned long)
STAND_IN_EXTREMES(long long)
STAND_IN_EXTREMES(unsigned long long)
#undef STAND_IN_EXTREMES
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

inline float __int_as_float(int bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline int __float_as_int(float x) {
  int bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) { return __int_as_float(static_cast<int>(bits)); }
inline unsigned __float_as_uint(float x) { return static_cast<unsigned>(__float_as_int(x)); }

// Rounded to nearest, and never fused with what stands around them.
inline float __fadd_rn(float a, float b) {
  volatile float sum = a + b;
  return sum;
}
inline float __fsub_rn(float a, float b) { return __fadd_rn(a, -b); }
inline float __fmul_rn(float a, float b) {
  volatile float product = a * b;
  return product;
}
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }

// Integers only: sums of floats would depend on the order of threads. The result is the old value.
#define STAND_IN_ATOMICS(T)                                                                              \
  inline T atomicAdd(T* place, T value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }   \
  inline T atomicExch(T* place, T value) { return __atomic_exchange_n(place, value, __ATOMIC_RELAXED); } \
  inline T atomicCAS(T* place, T expected, T value) {                                                    \
    __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);     \
    return expected;                                                                                     \
  }                                                                                                      \
  inline T atomicMax(T* place, T value) {                                                                \
    T seen = *place;                                                                                     \
    for (T before = seen; value > before; before = seen) {                                               \
      if ((seen = atomicCAS(place, before, value)) == before) break;                                     \
    }                                                                                                    \
    return seen;                                                                                         \
  }                                                                                                      \
  inline T atomicMin(T* place, T value) {                                                                \
    T seen = *place;                                                                                     \
    for (T before = seen; value < before; before = seen) {                                               \
      if ((seen = atomicCAS(place, before, value)) == before) break;                                     \
    }                                                                                                    \
    return seen;                                                                                         \
  }
STAND_IN_ATOMICS(int)
STAND_IN_ATOMICS(unsigned)
STAND_IN_ATOMICS(unsigned long long)
#undef STAND_IN_ATOMICS

#endif  // STAND_IN_IN_KERNELS_H_
