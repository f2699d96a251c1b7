// Memory for intermediate results of the kernels of one call.
//
//   ScratchLayout layout;
//   const int64_t sums = layout.Add<double>(blocks);
//   const ScratchMemory scratch(layout);
//   Launch(Add, shape, x, scratch.At<double>(sums));
//
// It is given back when the call returns, before its kernels have run. That is safe because the next user works on the
// same stream.
#ifndef CLEAVE_RUNTIME_KERNELS_CUDA_SCRATCH_CUH_
#define CLEAVE_RUNTIME_KERNELS_CUDA_SCRATCH_CUH_

#include <cstddef>
#include <cstdint>

#include "runtime/device/workspace.h"

namespace cleave::runtime {

class ScratchLayout {
 public:
  // The offset of `count` elements.
  template <typename T>
  int64_t Add(int64_t count) {
    const int64_t offset = bytes_;
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }

  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int64_t kAlignment = 64;
  int64_t bytes_ = 0;
};

class ScratchMemory {
 public:
  explicit ScratchMemory(const ScratchLayout& layout) : bytes_(layout.bytes()) {
    if (bytes_ > 0) data_ = static_cast<std::byte*>(TakeWorkspace(bytes_));
  }
  ScratchMemory(const ScratchMemory&) = delete;
  ScratchMemory& operator=(const ScratchMemory&) = delete;
  ~ScratchMemory() {
    if (bytes_ > 0) GiveWorkspace(data_, bytes_);
  }

  template <typename T>
  T* At(int64_t offset) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  int64_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_CUDA_SCRATCH_CUH_
