#include "runtime/comm/cuda/progress.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/waiting.h"

namespace cleave::runtime {
namespace {

// Never freed: the watchdog may be reading it.
Watch::DeviceProgress* NewProgress() {
  Watch::DeviceProgress* progress = nullptr;
  CheckCuda(cudaHostAlloc(&progress, sizeof *progress, cudaHostAllocDefault), "cudaHostAlloc");
  *progress = Watch::DeviceProgress();
  return progress;
}

}  // namespace

ProgressMarks::ProgressMarks(Watch& watch) : watch_(watch), progress_(NewProgress()), word_(&progress_->word) {
  watch_.ObserveDevice(progress_);
}

ProgressMarks::~ProgressMarks() {
  watch_.ObserveDevice(nullptr);
  WaitForStream(ComputeStream());
  WaitForStream(CommunicationStream());
}

int32_t ProgressMarks::NumberOf(CollectiveKind kind) { return watch_.NumberOfCollective(CollectiveKindName(kind)); }

void ProgressMarks::Mark(int32_t collective) { word_.Write(Watch::DeviceProgress::WordOf(collective, ++marks_)); }

}  // namespace cleave::runtime
