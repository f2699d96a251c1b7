// A word of the host's memory that a stream writes when it comes to that place of its work.
//
//   StreamWord word(place);   // Pinned memory.
//   word.Write(7);            // When all work before it on the current stream is done.
//
// The stream itself writes, by cuStreamWriteValue64: no kernel is launched for it, and no multiprocessor waits.
// Captured, it is a node of its own kind (CUDA driver API, "Stream Memory Operations" and "Graph Management", batch
// memory operations). Where the driver or the device has no such operations, which is tried once, a kernel of one
// thread writes.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_STREAM_WORD_H_
#define CLEAVE_RUNTIME_DEVICE_CUDA_STREAM_WORD_H_

#include <cudaTypedefs.h>

#include <cstdint>

namespace cleave::runtime {

class StreamWord {
 public:
  // REQUIRES: `place` is pinned memory, and outlives all work that writes there; no work is recorded.
  explicit StreamWord(uint64_t* place);

  void Write(uint64_t word);

 private:
  uint64_t* on_device_ = nullptr;                    // The place, as the GPU knows it.
  PFN_cuStreamWriteValue64_v11070 write_ = nullptr;  // Null: a kernel writes.
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_CUDA_STREAM_WORD_H_
