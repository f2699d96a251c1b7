#include <algorithm>
#include <cinttypes>
#include <set>
#include <utility>

#include "runtime/device/cuda/arena_memory.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/device.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

int64_t AvailableMemory() {
  size_t free = 0;
  size_t total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<int64_t>(free) : -1;
}

namespace {

// Pinned: the GPU copies to it by itself.
void* HostMemory(int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    Die(ExitCode::kFailed, Format("out of memory: asked the host for %" PRId64
                                  " bytes of pinned memory, in which the plan lets values of this rank wait",
                                  bytes));
  }
  CheckCuda(error, "cudaHostAlloc of the host's memory");
  return memory;
}

// Of the calling thread's rank. Never destroyed: the arena may go when the thread ends.
struct Source {
  ArenaMemory memory;
  std::set<void*> taken;
};
Source& SourceOfThread() {
  thread_local auto* const source = new Source;
  return *source;
}

// Null: of the GPU itself.
std::byte* TakeFromSource(int64_t bytes) {
  Source& source = SourceOfThread();
  void* const memory = source.memory.take ? source.memory.take(bytes) : nullptr;
  if (memory != nullptr) source.taken.insert(memory);
  return static_cast<std::byte*>(memory);
}

}  // namespace

void TakeArenasFrom(ArenaMemory memory) { SourceOfThread().memory = std::move(memory); }

Arena::Arena(int64_t bytes, int64_t peak, int64_t host_bytes)
    : bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment), host_bytes_(host_bytes) {
  if (host_bytes_ > 0) host_ = static_cast<std::byte*>(HostMemory(host_bytes_));
  const int64_t available = AvailableMemory();
  const int64_t needed = std::max(bytes_, peak);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (bytes_ == 0 || available < 0 || needed <= available) {
    data_ = TakeFromSource(bytes_);
    error = data_ != nullptr ? cudaSuccess : cudaMalloc(&data_, static_cast<size_t>(bytes_));
  }
  if (bytes_ == 0) return;
  if (error == cudaErrorMemoryAllocation) {
    Die(ExitCode::kFailed,
        Format("out of memory: asked for %" PRId64 " bytes; the plan predicts that this rank needs %" PRId64
               ", the GPU has %" PRId64 " left",
               bytes_, needed, available));
  }
  CheckCuda(error, "cudaMalloc of the arena");
  CheckCuda(cudaMemsetAsync(data_, 0, static_cast<size_t>(bytes_), ComputeStream()), "zeroing the arena");
}

// Waits for all work that uses it.
Arena::~Arena() {
  Source& source = SourceOfThread();
  if (source.taken.erase(data_) > 0) {
    cudaDeviceSynchronize();
    source.memory.give(data_);
  } else {
    cudaFree(data_);
  }
  cudaFreeHost(host_);
}

}  // namespace cleave::runtime
