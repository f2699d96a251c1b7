// For transports of device memory: which collective of a rank its GPU has reached. The GPU writes it, so that the
// watchdog sees it while the host runs ahead, or while recorded work is replayed.
#ifndef CLEAVE_RUNTIME_COMM_CUDA_PROGRESS_H_
#define CLEAVE_RUNTIME_COMM_CUDA_PROGRESS_H_

#include <cstdint>

#include "runtime/comm/comm.h"
#include "runtime/device/cuda/stream_word.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

class ProgressMarks {
 public:
  // REQUIRES: the calling thread's rank has its GPU.
  explicit ProgressMarks(Watch& watch);
  ~ProgressMarks();
  ProgressMarks(const ProgressMarks&) = delete;
  ProgressMarks& operator=(const ProgressMarks&) = delete;

  // At this place of the current stream a collective of the current op begins, or has ended.
  void Begin(CollectiveKind kind) { Begin(NumberOf(kind)); }
  void Begin(int32_t collective) { Mark(collective); }
  void End() { Mark(-1); }

  // Of a collective of the current op.
  int32_t NumberOf(CollectiveKind kind);

 private:
  void Mark(int32_t collective);

  Watch& watch_;
  Watch::DeviceProgress* const progress_;  // Pinned memory of the host.
  StreamWord word_;
  uint32_t marks_ = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_CUDA_PROGRESS_H_
