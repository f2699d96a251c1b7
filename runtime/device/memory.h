// Memory where tensors lie: that of the CPU, or of the rank's GPU. A program links one of the implementations,
// runtime/device/cpu or runtime/device/cuda.
//
// On a GPU CopyRuns, CopyBytes, PackPieces, UnpackPieces, ZeroBytes, CopyToHost and CopyFromHost only ask for the work:
// it is done in order with the kernels of the calling thread's current stream.
#ifndef CLEAVE_RUNTIME_DEVICE_MEMORY_H_
#define CLEAVE_RUNTIME_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave::runtime {

// Copies `rows` runs of `bytes` bytes; the pitches are the distances between beginnings of runs, in bytes. The two do
// not overlap.
struct Runs {
  int64_t bytes = 0;
  int64_t rows = 1;
  int64_t source_pitch = 0;
  int64_t target_pitch = 0;
};
void CopyRuns(const void* source, void* target, const Runs& runs);
inline void CopyBytes(const void* source, void* target, int64_t bytes) {
  if (source != target) CopyRuns(source, target, {bytes, 1, bytes, bytes});
}
void ZeroBytes(void* target, int64_t bytes);

// A tensor of `rows` rows, of which each has `size` elements of `inner` bytes, is cut into `pieces` along them, as
// PieceSizes (runtime/mesh/mesh.h) says. Piece i lies packed, row by row, at `packed + i * pitch`.
struct Pieces {
  std::byte* tensor = nullptr;
  std::byte* packed = nullptr;
  int64_t rows = 1;
  int64_t row_pitch = 0;  // Bytes between beginnings of rows of the tensor.
  int64_t size = 0;
  int64_t inner = 0;
  int64_t pieces = 1;
  int64_t pitch = 0;
};
// From the tensors to their pieces, and back. Tensors and pieces do not overlap. On a GPU all are one kernel for each
// length that is copied at once (16 bytes, 4 …), of up to about fifty tensors.
void PackPieces(const std::vector<Pieces>& tensors);
void UnpackPieces(const std::vector<Pieces>& tensors);

// Between a tensor and memory that the arena has on the host (Arena::OnHost).
void CopyToHost(const void* tensor, void* host, int64_t bytes);
void CopyFromHost(const void* host, void* tensor, int64_t bytes);
template <typename T>
void CopyToHost(const T* tensor, int64_t count, T* host) {
  CopyToHost(static_cast<const void*>(tensor), static_cast<void*>(host), count * static_cast<int64_t>(sizeof(T)));
}
template <typename T>
void CopyFromHost(const T* host, int64_t count, T* tensor) {
  CopyFromHost(static_cast<const void*>(host), static_cast<void*>(tensor), count * static_cast<int64_t>(sizeof(T)));
}

// Returns when all work of the current stream is done.
void FinishWork();

// Whether tensors lie in the host's memory and work is done when it is asked for: on a CPU.
bool TensorsAreOnHost();

// From the host's memory, which may be reused when this returns.
void CopyToDevice(const void* host, void* target, int64_t bytes);

// The values as the host can read them: where they are, on a CPU; else a copy, made when all work of the current stream
// is done, that is valid until the thread's next call.
const void* OnHost(const void* values, int64_t bytes);
template <typename T>
const T* OnHost(const T* values, int64_t count) {
  return static_cast<const T*>(OnHost(static_cast<const void*>(values), count * static_cast<int64_t>(sizeof(T))));
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DEVICE_MEMORY_H_
