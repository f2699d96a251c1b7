// For transports of device memory: which collective of a rank its GPU has reached. The GPU writes it, so that the
// watchdog sees it while the host runs ahead, or while recorded work is replayed.
//
// The stream itself writes the word, by cuStreamWriteValue64: no kernel is launched for it, and no multiprocessor
// waits. Captured, it is a node of its own kind (CUDA driver API, "Stream Memory Operations" and "Graph Management",
// batch memory operations). Where the driver or the device has no such operations (the driver answers that it does not
// support them), a kernel of one thread writes the word.
#ifndef CLEAVE_RUNTIME_COMM_CUDA_PROGRESS_H_
#define CLEAVE_RUNTIME_COMM_CUDA_PROGRESS_H_

#include <cudaTypedefs.h>

#include <cstdint>

#include "runtime/comm/comm.h"
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
  Watch::DeviceProgress* progress_ = nullptr;        // Pinned memory of the host.
  uint64_t* word_ = nullptr;                         // Its word, as the GPU knows it.
  PFN_cuStreamWriteValue64_v11070 write_ = nullptr;  // Null: a kernel writes.
  uint32_t marks_ = 0;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_CUDA_PROGRESS_H_
