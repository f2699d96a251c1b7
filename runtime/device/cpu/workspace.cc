#include "runtime/device/workspace.h"

#include <atomic>
#include <cinttypes>
#include <cstdlib>

#include "runtime/device/device.h"
#include "runtime/error/error.h"

namespace cleave::runtime {
namespace {

std::atomic<int64_t> now{0};
std::atomic<int64_t> peak{0};

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
  const int64_t taken = now += bytes;
  int64_t most = peak;
  while (taken > most && !peak.compare_exchange_weak(most, taken)) {
  }
  return memory;
}

void GiveWorkspace(void* memory, int64_t bytes) {
  now -= bytes;
  std::free(memory);
}

}  // namespace cleave::runtime
