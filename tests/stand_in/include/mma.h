// A stand-in for CUDA's warp-wide matrix products: 16 x 16 x 16, factors of 16 bits, sums of float.
//
// Element i of a fragment, row-major, is held by lane i % 32. The alignment that the hardware needs is checked: 32
// bytes for the first element, 16 bytes between rows.
#ifndef STAND_IN_MMA_H_
#define STAND_IN_MMA_H_

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "stand_in/in_kernels.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major {
  static constexpr bool kRows = true;
};
struct col_major {
  static constexpr bool kRows = false;
};
enum layout_t { mem_row_major, mem_col_major };

constexpr int kStandInElements = 8;  // The elements of a lane.

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment {
  static_assert(m == 16 && n == 16 && k == 16, "the shape that the stand-in knows");

 public:
  static constexpr int num_elements = kStandInElements;
  T x[kStandInElements];
};

// Ends the process with a message where tensor cores would read or write elsewhere.
void StandInCheckPlace(const void* first, unsigned row_bytes);

inline float StandInFloat(float x) { return x; }
inline float StandInFloat(__nv_bfloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

__attribute__((target("f16c"))) inline float StandInFloat(__half x) { return _cvtsh_ss(x.bits); }

inline int StandInRow(int element) { return (element * 32 + StandInLane()) / 16; }
inline int StandInColumn(int element) { return (element * 32 + StandInLane()) % 16; }

template <typename Use, typename T, typename Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& part, const T* first, unsigned pitch) {
  StandInCheckPlace(first, pitch * sizeof(T));
  for (int e = 0; e < kStandInElements; ++e) {
    const unsigned row = static_cast<unsigned>(StandInRow(e));
    const unsigned column = static_cast<unsigned>(StandInColumn(e));
    part.x[e] = Layout::kRows ? first[row * pitch + column] : first[column * pitch + row];
  }
  __syncwarp();
}

template <typename Use, typename T, typename Layout, typename Value>
void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& part, const Value& value) {
  for (T& element : part.x) element = value;
}

inline void store_matrix_sync(float* first, const fragment<accumulator, 16, 16, 16, float>& part, unsigned pitch,
                              layout_t layout) {
  StandInCheckPlace(first, pitch * sizeof(float));
  for (int e = 0; e < kStandInElements; ++e) {
    const unsigned row = static_cast<unsigned>(StandInRow(e));
    const unsigned column = static_cast<unsigned>(StandInColumn(e));
    first[layout == mem_row_major ? row * pitch + column : column * pitch + row] = part.x[e];
  }
  __syncwarp();
}

// The fragments of the calling thread's warp, whole: 16 x 16 each.
struct StandInFactors {
  float a[256];
  float b[256];
};
StandInFactors& StandInFactorsOfWarp();

template <typename T, typename LayoutA, typename LayoutB>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const fragment<matrix_a, 16, 16, 16, T, LayoutA>& a,
              const fragment<matrix_b, 16, 16, 16, T, LayoutB>& b, const fragment<accumulator, 16, 16, 16, float>& c) {
  StandInFactors& factors = StandInFactorsOfWarp();
  for (int e = 0; e < kStandInElements; ++e) {
    factors.a[e * 32 + StandInLane()] = StandInFloat(a.x[e]);
    factors.b[e * 32 + StandInLane()] = StandInFloat(b.x[e]);
  }
  __syncwarp();
  for (int e = 0; e < kStandInElements; ++e) {
    float sum = c.x[e];
    for (int k = 0; k < 16; ++k) sum += factors.a[StandInRow(e) * 16 + k] * factors.b[k * 16 + StandInColumn(e)];
    d.x[e] = sum;
  }
  __syncwarp();
}

}  // namespace nvcuda::wmma

#endif  // STAND_IN_MMA_H_
