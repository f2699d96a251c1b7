// Linear recurrences along one dimension of a row-major tensor, from a state of zeros: h[t] = a[t] h[t-1] + b[t]. With
// `reverse` they begin at the last element. a broadcasts against b: `a_sizes`, counted from the last dimension, are
// those of b, `sizes`, or 1. States are kept in f32. Sizes may be 0; results must not overlap inputs.
#ifndef CLEAVE_RUNTIME_KERNELS_SCAN_H_
#define CLEAVE_RUNTIME_KERNELS_SCAN_H_

#include <cstdint>
#include <vector>

#include "runtime/device/reals.h"
#include "runtime/kernels/ranking.h"

namespace cleave::runtime {

void Scan(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals b, const std::vector<int64_t>& sizes, int axis,
          bool reverse, Reals h);

// da = g times the state before each element; it has the sizes of b.
void ScanGradientA(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals b, const std::vector<int64_t>& sizes,
                   ConstReals g, int axis, bool reverse, Reals da);

// db[t] = dy[t] + a[t-1] db[t-1].
void ScanGradientB(ConstReals a, const std::vector<int64_t>& a_sizes, ConstReals dy, const std::vector<int64_t>& sizes,
                   int axis, bool reverse, Reals db);

// Of a dimension that is cut into pieces, where the tensors have all elements of some of these.

// The product of a over each piece, and the last state of each piece from zeros: [.., pieces.count, ..].
void ScanProducts(const float* a, const std::vector<int64_t>& a_sizes, int axis, const PiecesOfRow& pieces,
                  float* products);
void ScanEnds(const float* a, const std::vector<int64_t>& a_sizes, const float* b, const std::vector<int64_t>& sizes,
              int axis, bool reverse, const PiecesOfRow& pieces, float* ends);

// The states of each piece, behind its elements or before them: [.., pieces.count, r, ..], with r elements in the
// largest of all pieces, and zeros behind those of a smaller one. `carried` [.., pieces.pieces, ..] has the state
// behind each of all pieces.
void ScanPieces(const float* a, const std::vector<int64_t>& a_sizes, const float* b, const std::vector<int64_t>& sizes,
                const float* carried, int axis, bool reverse, const PiecesOfRow& pieces, float* y);
void ScanPiecesBefore(const float* a, const std::vector<int64_t>& a_sizes, const float* b,
                      const std::vector<int64_t>& sizes, const float* carried, int axis, bool reverse,
                      const PiecesOfRow& pieces, float* y);

// Elements of the rows of such a tensor one behind another: y, which has `sizes`, begins with element `first` of the
// whole dimension.
void JoinPieces(const float* x, const std::vector<int64_t>& sizes, int axis, const PiecesOfRow& pieces, int64_t first,
                float* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SCAN_H_
