#include "runtime/device/workspace.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

#include "runtime/device/device.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

// Of the calling thread's rank. Memory that is taken in parallel loops does not count as workspace.
thread_local int64_t now = 0;
thread_local int64_t peak = 0;

}  // namespace

WorkspaceUse WorkspaceBytes() { return {now, peak}; }

void* TakeWorkspace(int64_t bytes) {
  constexpr int64_t kAlignment = Arena::kAlignment;
  const int64_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, static_cast<size_t>(aligned));
  if (memory == nullptr && bytes > 0) {
    Die(ExitCode::kFailed,
        Format("out of memory: a call needs %" PRId64 " bytes beside the arena, the machine has %" PRId64 " left",
               bytes, AvailableMemory()));
  }
  now += bytes;
  peak = std::max(peak, now);
  return memory;
}

void GiveWorkspace(void* memory, int64_t bytes) {
  now -= bytes;
  std::free(memory);
}

}  // namespace cleave::runtime
