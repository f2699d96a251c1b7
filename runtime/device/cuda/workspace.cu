// Allocating on a GPU takes long and waits for the device, and cannot be part of recorded work. So what is given back
// is kept, and taken again for the same number of bytes on the same stream, whose work is done in order: the memory may
// still be in use when it is given back. Memory that a step takes a second time is always there.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <map>
#include <utility>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/device.h"
#include "runtime/device/workspace.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Of the calling thread's rank, allocated and never freed.
thread_local int64_t allocated = 0;

struct Kept {
  std::map<std::pair<cudaStream_t, int64_t>, std::vector<void*>> memory;  // By stream and bytes.
  std::map<void*, cudaStream_t> taken;
};

// Never destroyed: other objects of the thread give memory back when it ends.
Kept& KeptOfThread() {
  thread_local auto* const kept = new Kept;
  return *kept;
}

int64_t Rounded(int64_t bytes) {
  constexpr int64_t kUnit = 512;
  return (std::max<int64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

WorkspaceUse WorkspaceBytes() { return {allocated, allocated}; }

void* TakeForGood(int64_t bytes) {
  const int64_t rounded = Rounded(bytes);
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(rounded));
  if (error == cudaErrorMemoryAllocation) {
    Die(ExitCode::kFailed,
        Format("out of memory: a call needs %" PRId64 " bytes beside the arena, the GPU has %" PRId64 " left", bytes,
               AvailableMemory()));
  }
  CheckCuda(error, "cudaMalloc of a workspace");
  allocated += rounded;
  return memory;
}

void* TakeNewWorkspace(int64_t bytes) {
  void* const memory = TakeForGood(bytes);
  KeptOfThread().taken[memory] = CurrentStream();
  return memory;
}

void* TakeWorkspace(int64_t bytes) {
  Kept& kept = KeptOfThread();
  const cudaStream_t stream = CurrentStream();
  std::vector<void*>& fitting = kept.memory[{stream, Rounded(bytes)}];
  if (fitting.empty()) return TakeNewWorkspace(bytes);
  void* const memory = fitting.back();
  fitting.pop_back();
  kept.taken[memory] = stream;
  return memory;
}

void GiveWorkspace(void* memory, int64_t bytes) {
  if (memory == nullptr) return;
  Kept& kept = KeptOfThread();
  const auto found = kept.taken.find(memory);
  kept.memory[{found->second, Rounded(bytes)}].push_back(memory);
  kept.taken.erase(found);
}

}  // namespace cleave::runtime
