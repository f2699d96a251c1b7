#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"
#include "runtime/device/memory.h"

namespace cleave::runtime {
namespace {

// Pinned memory of the host, which only grows.
class HostBuffer {
 public:
  void* AtLeast(size_t bytes) {
    if (bytes > bytes_) {
      if (data_ != nullptr) CheckCuda(cudaFreeHost(data_), "cudaFreeHost");
      data_ = nullptr;
      CheckCuda(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault), "cudaHostAlloc");
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Rows of `units` units each; the pitches are in units too.
template <typename Unit>
__global__ void CopyRows(const Unit* source, Unit* target, int64_t units, int64_t rows, int64_t source_pitch,
                         int64_t target_pitch) {
  for (int64_t i = FirstElement(); i < units * rows; i += ElementStride()) {
    const int64_t row = i / units;
    const int64_t unit = i - row * units;
    target[row * target_pitch + unit] = source[row * source_pitch + unit];
  }
}

template <typename Unit>
void LaunchCopyRows(const void* source, void* target, const Runs& runs) {
  constexpr int64_t kBytes = sizeof(Unit);
  const int64_t units = runs.bytes / kBytes;
  Launch(CopyRows<Unit>, ForElements(units * runs.rows), static_cast<const Unit*>(source), static_cast<Unit*>(target),
         units, runs.rows, runs.source_pitch / kBytes, runs.target_pitch / kBytes);
}

// Whether every run begins at a multiple of `unit` bytes, in the source and in the target, and its length is a multiple
// too.
bool IsMultiple(const void* source, const void* target, const Runs& runs, uintptr_t unit) {
  const uintptr_t all = reinterpret_cast<uintptr_t>(source) | reinterpret_cast<uintptr_t>(target) |
                        static_cast<uintptr_t>(runs.bytes) | static_cast<uintptr_t>(runs.source_pitch) |
                        static_cast<uintptr_t>(runs.target_pitch);
  return all % unit == 0;
}

}  // namespace

void CopyRuns(const void* source, void* target, const Runs& runs) {
  if (runs.bytes == 0 || runs.rows == 0) return;
  const bool whole = runs.source_pitch == runs.bytes && runs.target_pitch == runs.bytes;
  if (whole || runs.rows == 1) {
    CheckCuda(cudaMemcpyAsync(target, source, static_cast<size_t>(runs.bytes * runs.rows), cudaMemcpyDeviceToDevice,
                              CurrentStream()),
              "copying on the GPU");
    return;
  }
  // cudaMemcpy2DAsync is not used: runs are often a few bytes long, and it moves each of them by itself.
  if (IsMultiple(source, target, runs, 16)) return LaunchCopyRows<uint4>(source, target, runs);
  if (IsMultiple(source, target, runs, 4)) return LaunchCopyRows<uint32_t>(source, target, runs);
  if (IsMultiple(source, target, runs, 2)) return LaunchCopyRows<uint16_t>(source, target, runs);
  LaunchCopyRows<uint8_t>(source, target, runs);
}

void ZeroBytes(void* target, int64_t bytes) {
  if (bytes <= 0) return;
  CheckCuda(cudaMemsetAsync(target, 0, static_cast<size_t>(bytes), CurrentStream()), "zeroing on the GPU");
}

void CopyToHost(const void* tensor, void* host, int64_t bytes) {
  if (bytes <= 0) return;
  CheckCuda(cudaMemcpyAsync(host, tensor, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, CurrentStream()),
            "copying to the host's memory");
}

void CopyFromHost(const void* host, void* tensor, int64_t bytes) {
  if (bytes <= 0) return;
  CheckCuda(cudaMemcpyAsync(tensor, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, CurrentStream()),
            "copying from the host's memory");
}

void FinishWork() { WaitForStream(CurrentStream()); }

bool TensorsAreOnHost() { return false; }

void CopyToDevice(const void* host, void* target, int64_t bytes) {
  if (bytes <= 0) return;
  CheckCuda(cudaMemcpyAsync(target, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, CurrentStream()),
            "copying to the GPU");
  WaitForStream(CurrentStream());
}

const void* OnHost(const void* values, int64_t bytes) {
  thread_local HostBuffer buffer;
  void* const host = buffer.AtLeast(static_cast<size_t>(bytes));
  if (bytes > 0) {
    CheckCuda(cudaMemcpyAsync(host, values, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, CurrentStream()),
              "copying from the GPU");
  }
  WaitForStream(CurrentStream());
  return host;
}

}  // namespace cleave::runtime
