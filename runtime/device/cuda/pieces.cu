// Copies between tensors and their packed pieces. A thread finds the piece of an element by the closed form of
// PieceSizes: of d elements cut n ways, element e is in piece floor(((e + 1) n - 1) / d), which begins at floor(i d /
// n).
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/loop_batch.cuh"
#include "runtime/device/cuda/vector.cuh"
#include "runtime/device/memory.h"

namespace cleave::runtime {
namespace {

// Lengths are in units.
template <typename Unit>
struct PiecesLoop {
  int64_t count;  // Of the whole tensor.
  Unit* tensor;
  Unit* packed;
  int64_t row_pitch;
  int64_t size;
  int64_t inner;
  int64_t pieces;
  int64_t pitch;
};

// Index: uint32_t where that suffices, as divisions cost less.
template <typename Unit, typename Index, bool kPacks>
__global__ void CopyPieces(LoopBatch<PiecesLoop<Unit>> batch) {
  const BatchPart part = PartOfBlock<1>(batch);
  const PiecesLoop<Unit> of = batch.loops[part.loop];
  const Index size = static_cast<Index>(of.size), inner = static_cast<Index>(of.inner);
  const Index pieces = static_cast<Index>(of.pieces);
  for (int64_t i = part.begin; i < part.end; i += part.stride) {
    const Index element = static_cast<Index>(i) / inner, row = element / size;
    const Index in_row = element - row * size;
    const Index piece = ((in_row + 1) * pieces - 1) / size;
    const Index begin = piece * size / pieces, end = (piece + 1) * size / pieces;
    const int64_t in_element = static_cast<int64_t>(static_cast<Index>(i) - element * inner);
    const int64_t at = static_cast<int64_t>(row) * of.row_pitch + static_cast<int64_t>(in_row) * of.inner + in_element;
    const int64_t before =
        static_cast<int64_t>(row) * static_cast<int64_t>(end - begin) + static_cast<int64_t>(in_row - begin);
    const int64_t to = static_cast<int64_t>(piece) * of.pitch + before * of.inner + in_element;
    if (kPacks) {
      of.packed[to] = of.tensor[at];
    } else {
      of.tensor[at] = of.packed[to];
    }
  }
}

bool FitsIn32Bits(const Pieces& pieces, int64_t unit) {
  const int64_t units = pieces.rows * pieces.size * (pieces.inner / unit);
  return units <= UINT32_MAX && (pieces.size + 1) * (pieces.pieces + 1) <= UINT32_MAX;
}

// The largest unit by which the tensor and its pieces can be copied.
int64_t UnitOf(const Pieces& pieces) {
  const uint64_t all = reinterpret_cast<uintptr_t>(pieces.tensor) | reinterpret_cast<uintptr_t>(pieces.packed) |
                       static_cast<uint64_t>(pieces.inner) | static_cast<uint64_t>(pieces.row_pitch) |
                       static_cast<uint64_t>(pieces.pitch) | 16;
  return static_cast<int64_t>(all & ~(all - 1));  // The lowest bit that is set.
}

template <typename Unit, bool kPacks>
void LaunchPieces(const std::vector<Pieces>& tensors) {
  constexpr int64_t kUnit = sizeof(Unit);
  std::vector<PiecesLoop<Unit>> small, large;
  for (const Pieces& pieces : tensors) {
    const int64_t inner = pieces.inner / kUnit;
    (FitsIn32Bits(pieces, kUnit) ? small : large)
        .push_back({pieces.rows * pieces.size * inner, reinterpret_cast<Unit*>(pieces.tensor),
                    reinterpret_cast<Unit*>(pieces.packed), pieces.row_pitch / kUnit, pieces.size, inner, pieces.pieces,
                    pieces.pitch / kUnit});
  }
  if (!small.empty()) LaunchBatch(CopyPieces<Unit, uint32_t, kPacks>, small);
  if (!large.empty()) LaunchBatch(CopyPieces<Unit, uint64_t, kPacks>, large);
}

template <bool kPacks>
void CopyAllPieces(const std::vector<Pieces>& tensors) {
  std::vector<Pieces> of_16, of_8, of_4, of_2, of_1;
  for (const Pieces& pieces : tensors) {
    if (pieces.rows * pieces.size * pieces.inner == 0) continue;
    const int64_t unit = UnitOf(pieces);
    (unit == 16 ? of_16 : unit == 8 ? of_8 : unit == 4 ? of_4 : unit == 2 ? of_2 : of_1).push_back(pieces);
  }
  LaunchPieces<Vector<uint32_t, 4>, kPacks>(of_16);
  LaunchPieces<Vector<uint32_t, 2>, kPacks>(of_8);
  LaunchPieces<uint32_t, kPacks>(of_4);
  LaunchPieces<uint16_t, kPacks>(of_2);
  LaunchPieces<uint8_t, kPacks>(of_1);
}

}  // namespace

void PackPieces(const std::vector<Pieces>& tensors) { CopyAllPieces<true>(tensors); }
void UnpackPieces(const std::vector<Pieces>& tensors) { CopyAllPieces<false>(tensors); }

}  // namespace cleave::runtime
