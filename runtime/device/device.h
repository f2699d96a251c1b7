// The device of one rank, and its memory: a single allocation at the start, in which the generated program lays out its
// buffers.
//
//   if (std::optional<Error> error = OpenDevice({.local_rank = 1, .ranks_on_host = 4})) …
//   Arena arena(arena_bytes, peak_bytes);
//   float* const h1_weight = arena.At<float>(1024);
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICE_H_
#define CLEAVE_RUNTIME_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/error/error.h"

namespace cleave::runtime {

// A rank among those of its host.
struct DeviceRequest {
  int local_rank = 0;
  int ranks_on_host = 1;
  bool shared = false;  // All ranks of the host are to use the same GPU: they are threads of one process.
};

// Gives the calling thread's rank the GPU of its local rank. Called once per rank, before every other function here.
// Returns an Error (exit code 5) when there is no driver, no GPU, or no GPU that the program was built for. On a CPU it
// does nothing.
std::optional<Error> OpenDevice(const DeviceRequest& request);

// What names the rank's GPU among all in the world, then a space and what a user calls it: "GPU-…  GPU 0 of host a
// (NVIDIA H200)"; empty on a CPU. Ranks that are not to share a GPU have different ones.
std::string DeviceIdentity();

class Arena {
 public:
  static constexpr int64_t kAlignment = 64;

  // `bytes` bytes of zeros, aligned to kAlignment. `peak`: what the plan predicts that the rank needs in all, the arena
  // included. `host_bytes`: of memory of the host that a GPU can copy to while it computes; 0 on a CPU. When the
  // machine, or the rank's GPU, has less than that left, ends the program with exit code 6 and a message that says what
  // was asked for, what was predicted and what there is.
  explicit Arena(int64_t bytes, int64_t peak = 0, int64_t host_bytes = 0);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  int64_t bytes() const { return bytes_; }
  int64_t host_bytes() const { return host_bytes_; }

  template <typename T>
  T* At(int64_t offset) const {
    return reinterpret_cast<T*>(data_ + offset);
  }
  template <typename T>
  T* OnHost(int64_t offset) const {
    return reinterpret_cast<T*>(host_ + offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::byte* host_ = nullptr;
  int64_t bytes_ = 0;
  int64_t host_bytes_ = 0;
};

// Bytes of memory that the machine, or the rank's GPU, can still give; -1 where it does not say.
int64_t AvailableMemory();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_DEVICE_H_
