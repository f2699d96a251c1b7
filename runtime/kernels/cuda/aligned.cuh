// Where vectors of elements can be moved.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_ALIGNED_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_ALIGNED_CUH_

#include <cstdint>

#include "runtime/device/reals.h"

namespace cleave::runtime {

constexpr int64_t kVectorBytes = 16;  // The most that one instruction moves.

inline const void* PlaceOf(const void* place) { return place; }
inline const void* PlaceOf(ConstReals x) { return x.place(); }
inline const void* PlaceOf(Reals y) { return y.place(); }

// Whether vectors of kVectorBytes can be moved from and to all of these places.
template <typename... T>
bool AreAligned(const T&... tensors) {
  return (... && (reinterpret_cast<uintptr_t>(PlaceOf(tensors)) % kVectorBytes == 0));
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_ALIGNED_CUH_
