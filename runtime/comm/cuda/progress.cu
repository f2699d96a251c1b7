#include "runtime/comm/cuda/progress.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"
#include "runtime/device/memory.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {
namespace {

// Called by one thread of the block.
__global__ void WriteProgress(int32_t collective, int32_t* events, volatile Watch::DeviceProgress* progress) {
  if (threadIdx.x != 0) return;
  progress->collective = collective;
  __threadfence_system();  // A reader that sees the new number of events also sees which collective it is.
  progress->events = ++*events;
}

constexpr LaunchShape kOneThread = {1, 32};

}  // namespace

ProgressMarks::ProgressMarks(Watch& watch) : watch_(watch) {
  CheckCuda(cudaHostAlloc(&progress_, sizeof *progress_, cudaHostAllocDefault), "cudaHostAlloc");
  *progress_ = Watch::DeviceProgress();
  events_ = static_cast<int32_t*>(TakeWorkspace(sizeof *events_));
  ZeroBytes(events_, sizeof *events_);
  WaitForStream(CurrentStream());  // This must be done before the communication stream writes there.
  watch_.ObserveDevice(progress_);
}

ProgressMarks::~ProgressMarks() {
  // The memory itself is not freed: the watchdog may be reading it.
  watch_.ObserveDevice(nullptr);
  WaitForStream(ComputeStream());
  WaitForStream(CommunicationStream());
  GiveWorkspace(events_, sizeof *events_);
}

int32_t ProgressMarks::NumberOf(CollectiveKind kind) { return watch_.NumberOfCollective(CollectiveKindName(kind)); }

void ProgressMarks::Begin(int32_t collective) { Launch(WriteProgress, kOneThread, collective, events_, progress_); }

void ProgressMarks::End() { Launch(WriteProgress, kOneThread, -1, events_, progress_); }

}  // namespace cleave::runtime
