// Where the elements of a scan lie: the lines along its dimension, the factors that belong to them, and its pieces.
// Private to the implementations of scan.h.
#ifndef CLEAVE_RUNTIME_KERNELS_SCAN_LINES_H_
#define CLEAVE_RUNTIME_KERNELS_SCAN_LINES_H_

#include <cstdint>
#include <vector>

#include "runtime/device/portable.h"
#include "runtime/error/error.h"
#include "runtime/kernels/ranking.h"

namespace cleave::runtime {

// A tensor as [outer, length, inner]; a line for each outer and inner index. The factor of an element is that of its
// line plus `along` for each element before it.
struct ScanLines {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
  int64_t along = 0;

  ScanLines(int64_t outer, int64_t length, int64_t inner)  // Each element has a factor of its own.
      : outer(outer), length(length), inner(inner), along(inner) {
    AddGroup(outer, length * inner);
    AddGroup(inner, 1);
  }

  ScanLines(const std::vector<int64_t>& factor_sizes, const std::vector<int64_t>& sizes, int axis) {
    std::vector<int64_t> strides(sizes.size(), 0);
    const size_t missing = sizes.size() - factor_sizes.size();
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > missing; stride *= factor_sizes[d - missing]) {
      if (factor_sizes[d - missing] != 1) strides[d] = stride;
    }
    for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
      const auto at = static_cast<size_t>(d);
      (d < axis ? outer : d == axis ? length : inner) *= sizes[at];
      if (d == axis) {
        along = strides[at];
      } else {
        AddGroup(sizes[at], strides[at]);
      }
    }
  }

  CLEAVE_PORTABLE int64_t lines() const { return outer * inner; }
  int64_t elements() const { return outer * length * inner; }
  CLEAVE_PORTABLE int64_t At(int64_t line, int64_t place) const {
    return (line / inner * length + place) * inner + line % inner;
  }
  // Where the factor of the first element of a line is.
  CLEAVE_PORTABLE int64_t FactorOf(int64_t line) const {
    int64_t at = 0;
    for (int g = groups_ - 1; g >= 0; --g) {
      at += line % size_[g] * stride_[g];
      line /= size_[g];
    }
    return at;
  }

 private:
  void AddGroup(int64_t size, int64_t stride) {
    if (size == 1) return;
    const bool joins = groups_ > 0 && stride_[groups_ - 1] == stride * size;
    if (!joins && groups_ == kMostGroups) {
      Die(ExitCode::kInternal, Format("a scan with factors that repeat along more than %d dimensions", kMostGroups));
    }
    const int at = joins ? groups_ - 1 : groups_++;
    size_[at] = joins ? size_[at] * size : size;
    stride_[at] = stride;
  }

  static constexpr int kMostGroups = 8;
  int groups_ = 0;  // Of neighbouring dimensions, other than that of the scan.
  int64_t size_[kMostGroups] = {};
  int64_t stride_[kMostGroups] = {};  // Of their factors.
};

// The pieces of a line: elements [begin, end) of those that are there.
struct ScanPiece {
  int64_t begin;
  int64_t end;
};
CLEAVE_PORTABLE inline ScanPiece PieceOfLine(const PiecesOfRow& pieces, int64_t number) {
  const int64_t first = pieces.first * pieces.elements / pieces.pieces;
  const int64_t piece = pieces.first + number;
  return {piece * pieces.elements / pieces.pieces - first, (piece + 1) * pieces.elements / pieces.pieces - first};
}
CLEAVE_PORTABLE inline int64_t LargestPieceOfLine(const PiecesOfRow& pieces) {
  return (pieces.elements + pieces.pieces - 1) / pieces.pieces;
}
// The piece that comes before piece `number` of those that are there, among all; -1 for the first.
CLEAVE_PORTABLE inline int64_t PieceBefore(const PiecesOfRow& pieces, int64_t number, bool reverse) {
  const int64_t piece = pieces.first + number;
  if (!reverse) return piece - 1;
  return piece + 1 < pieces.pieces ? piece + 1 : -1;
}
// The piece of which element `element` of the whole dimension is.
CLEAVE_PORTABLE inline int64_t PieceWith(const PiecesOfRow& pieces, int64_t element) {
  return ((element + 1) * pieces.pieces - 1) / pieces.elements;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SCAN_LINES_H_
