// Where vectors of elements can be moved.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_ALIGNED_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_ALIGNED_CUH_

#include <cstdint>

namespace cleave::runtime {

constexpr int64_t kVectorBytes = 16;  // The most that one instruction moves.

// Whether vectors of kVectorBytes can be moved from and to all of these places.
template <typename... T>
bool AreAligned(const T*... places) {
  return (... && (reinterpret_cast<uintptr_t>(places) % kVectorBytes == 0));
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_ALIGNED_CUH_
