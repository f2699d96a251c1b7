#include "runtime/error/error.h"
#include "runtime/kernels/cuda/draws.cuh"

namespace cleave::runtime {

PieceRows RowsOfPiece(const Region& piece) {
  PieceRows rows;
  size_t d = piece.shape.size();
  int64_t stride = 1;
  // The last dimensions, as long as the rank holds all of the dimensions behind.
  for (bool is_whole = true; d > 0 && is_whole; --d) {
    rows.columns *= piece.size[d - 1];
    rows.first_column += piece.begin[d - 1] * stride;
    stride *= piece.shape[d - 1];
    is_whole = piece.size[d - 1] == piece.shape[d - 1];
  }
  const size_t before = d;
  for (; d > 0; --d) {
    const int64_t size = piece.size[d - 1];
    // A dimension of one element needs no step.
    if (size == 1) {
      rows.first_column += piece.begin[d - 1] * stride;
    } else {
      if (rows.rank == PieceRows::kMostDimensions) {
        Die(ExitCode::kInternal, Format("a piece of a tensor of %zu dimensions, of which %zu have to be walked through",
                                        piece.shape.size(), before));
      }
      rows.size[rows.rank] = size;
      rows.begin[rows.rank] = piece.begin[d - 1];
      rows.stride[rows.rank] = stride;
      ++rows.rank;
    }
    rows.rows *= size;
    stride *= piece.shape[d - 1];
  }
  return rows;
}

}  // namespace cleave::runtime
