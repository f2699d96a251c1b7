// The memory of one rank: a single allocation at the start, in which the generated program lays out its buffers.
//
//   Arena arena(kArenaBytes, kPeakBytes);
//   float* const h1_weight = arena.At<float>(1024);
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICE_H_
#define CLEAVE_RUNTIME_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>

namespace cleave::runtime {

class Arena {
 public:
  static constexpr int64_t kAlignment = 64;

  // `bytes` bytes of zeros, aligned to kAlignment. `peak`: what the plan predicts that the rank needs in all, the arena
  // included. When the machine has less than that left, ends the program with exit code 6 and a message that says what
  // was asked for, what was predicted and what there is.
  explicit Arena(int64_t bytes, int64_t peak = 0);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  int64_t bytes() const { return bytes_; }

  template <typename T>
  T* At(int64_t offset) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Bytes of memory that the machine can still give; -1 where it does not say.
int64_t AvailableMemory();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_DEVICE_H_
