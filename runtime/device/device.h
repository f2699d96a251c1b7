// The memory of one rank: a single allocation at the start, in which the generated program lays out its buffers.
//
//   Arena arena(kArenaBytes);
//   float* const h1_weight = arena.At<float>(1024);
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICE_H_
#define CLEAVE_RUNTIME_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>

namespace cleave::runtime {

class Arena {
 public:
  static constexpr int64_t kAlignment = 64;

  // `bytes` bytes of zeros, aligned to kAlignment. When the machine has not that much left, ends the program with exit
  // code 6 and a message that says how much was asked and how much there is.
  explicit Arena(int64_t bytes);
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
