// Private to runtime/device/cpu: what a rank holds of the workspace. Its thread that communicates takes some, too.
#ifndef CLEAVE_RUNTIME_DEVICE_CPU_WORKSPACE_COUNT_H_
#define CLEAVE_RUNTIME_DEVICE_CPU_WORKSPACE_COUNT_H_

#include <atomic>
#include <cstdint>

namespace cleave::runtime {

struct WorkspaceCount {
  std::atomic<int64_t> now{0};
  std::atomic<int64_t> peak{0};
};

// What the calling thread counts in: its own, until it is told another, which must outlive it.
WorkspaceCount& CountOfThread();
void CountIn(WorkspaceCount& count);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CPU_WORKSPACE_COUNT_H_
