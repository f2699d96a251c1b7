#include "runtime/device/memory.h"

#include <cstring>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// visit(the piece in the tensor, the packed piece, bytes of its rows), for each piece.
template <typename Visit>
void ForEachPiece(const Pieces& pieces, const Visit& visit) {
  std::byte* in_tensor = pieces.tensor;
  std::byte* packed = pieces.packed;
  for (const int64_t size : PieceSizes(pieces.size, pieces.pieces)) {
    const int64_t bytes = size * pieces.inner;
    visit(in_tensor, packed, bytes);
    in_tensor += bytes;
    packed += pieces.pitch;
  }
}

}  // namespace

void CopyRuns(const void* source, void* target, const Runs& runs) {
  if (runs.bytes == 0) return;
  const char* from = static_cast<const char*>(source);
  char* to = static_cast<char*>(target);
  for (int64_t row = 0; row < runs.rows; ++row, from += runs.source_pitch, to += runs.target_pitch) {
    std::memcpy(to, from, static_cast<size_t>(runs.bytes));
  }
}

void PackPieces(const std::vector<Pieces>& tensors) {
  for (const Pieces& pieces : tensors) {
    ForEachPiece(pieces, [&](const std::byte* in_tensor, std::byte* packed, int64_t bytes) {
      CopyRuns(in_tensor, packed, {bytes, pieces.rows, pieces.row_pitch, bytes});
    });
  }
}

void UnpackPieces(const std::vector<Pieces>& tensors) {
  for (const Pieces& pieces : tensors) {
    ForEachPiece(pieces, [&](std::byte* in_tensor, const std::byte* packed, int64_t bytes) {
      CopyRuns(packed, in_tensor, {bytes, pieces.rows, bytes, pieces.row_pitch});
    });
  }
}

void ZeroBytes(void* target, int64_t bytes) {
  if (bytes > 0) std::memset(target, 0, static_cast<size_t>(bytes));
}

void CopyToHost(const void* tensor, void* host, int64_t bytes) { CopyBytes(tensor, host, bytes); }
void CopyFromHost(const void* host, void* tensor, int64_t bytes) { CopyBytes(host, tensor, bytes); }

void FinishWork() {}

bool TensorsAreOnHost() { return true; }

void CopyToDevice(const void* host, void* target, int64_t bytes) { CopyBytes(host, target, bytes); }

const void* OnHost(const void* values, int64_t) { return values; }

}  // namespace cleave::runtime
