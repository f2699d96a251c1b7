#include "runtime/device/workspace.h"

#include <cinttypes>
#include <cstdlib>

#include "runtime/device/cpu/workspace_count.h"
#include "runtime/device/device.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Of the calling thread's rank. Memory that is taken in parallel loops does not count as workspace.
thread_local WorkspaceCount own_count;
thread_local WorkspaceCount* other_count = nullptr;

}  // namespace

WorkspaceCount& CountOfThread() { return other_count == nullptr ? own_count : *other_count; }
void CountIn(WorkspaceCount& count) { other_count = &count; }

WorkspaceUse WorkspaceBytes() { return {CountOfThread().now, CountOfThread().peak}; }

void* TakeWorkspace(int64_t bytes) {
  constexpr int64_t kAlignment = Arena::kAlignment;
  const int64_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, static_cast<size_t>(aligned));
  if (memory == nullptr && bytes > 0) {
    Die(ExitCode::kFailed,
        Format("out of memory: a call needs %" PRId64 " bytes beside the arena, the machine has %" PRId64 " left",
               bytes, AvailableMemory()));
  }
  WorkspaceCount& count = CountOfThread();
  const int64_t now = count.now += bytes;
  int64_t peak = count.peak;
  while (peak < now && !count.peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void* TakeNewWorkspace(int64_t bytes) { return TakeWorkspace(bytes); }

void GiveWorkspace(void* memory, int64_t bytes) {
  CountOfThread().now -= bytes;
  std::free(memory);
}

}  // namespace cleave::runtime
