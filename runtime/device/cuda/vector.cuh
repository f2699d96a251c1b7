// Elements that lie together, moved as one: 4 floats or 8 bfloat16 are one load of 16 bytes.
//
//   for (int64_t i = 4 * FirstElement(); i < count; i += 4 * ElementStride()) {
//     Vector<float, 4> x_4 = Load<4>(x + i);
//     for (int v = 0; v < 4; ++v) x_4[v] = Maximum(x_4[v], 0.0f);
//     Store(x_4, y + i);
//   }
//
// REQUIRES of both: the place is a multiple of the vector's size.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_VECTOR_CUH_
#define CLEAVE_RUNTIME_DEVICE_CUDA_VECTOR_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/reals.h"

namespace cleave::runtime {

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  static_assert(sizeof(T) * kCount <= 16, "the largest load of a thread");
  T elements[kCount];

  __device__ T& operator[](int i) { return elements[i]; }
  __device__ const T& operator[](int i) const { return elements[i]; }
};

// What one load or store moves. A vector whose elements are structs would be moved element by element.
template <size_t kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};

template <int kCount, typename T>
__device__ inline Vector<T, kCount> Load(const T* place) {
  using Word = typename WordOf<sizeof(Vector<T, kCount>)>::Type;
  const Word& source = *reinterpret_cast<const Word*>(place);
  const Word word = source;
  Vector<T, kCount> vector;
  std::memcpy(static_cast<void*>(&vector), &word, sizeof word);
  return vector;
}

template <typename T, int kCount>
__device__ inline void Store(const Vector<T, kCount>& vector, T* place) {
  using Word = typename WordOf<sizeof(Vector<T, kCount>)>::Type;
  Word word;
  std::memcpy(&word, static_cast<const void*>(&vector), sizeof word);
  Word& target = *reinterpret_cast<Word*>(place);
  target = word;
}

// The same for elements that are computed with as floats.
template <int kCount, typename T>
__device__ inline Vector<float, kCount> LoadFloats(const T* place) {
  const auto stored = Load<kCount>(place);
  Vector<float, kCount> floats;
#pragma unroll
  for (int k = 0; k < kCount; ++k) floats[k] = stored[k];
  return floats;
}

template <typename T, int kCount>
__device__ inline void StoreFloats(const Vector<float, kCount>& floats, T* place) {
  Vector<T, kCount> stored;
#pragma unroll
  for (int k = 0; k < kCount; ++k) stored[k] = T(floats[k]);
  Store(stored, place);
}

// From element `i` on.
template <int kCount>
__device__ inline Vector<float, kCount> LoadReals(ConstReals x, int64_t i) {
  if (x.type() == RealType::kBf16) return LoadFloats<kCount>(x.As<BFloat16>() + i);
  if (x.type() == RealType::kF16) return LoadFloats<kCount>(x.As<Float16>() + i);
  return Load<kCount>(x.As<float>() + i);
}

template <int kCount>
__device__ inline void StoreReals(const Vector<float, kCount>& floats, Reals y, int64_t i) {
  if (y.type() == RealType::kBf16) return StoreFloats(floats, y.As<BFloat16>() + i);
  if (y.type() == RealType::kF16) return StoreFloats(floats, y.As<Float16>() + i);
  Store(floats, y.As<float>() + i);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_VECTOR_CUH_
