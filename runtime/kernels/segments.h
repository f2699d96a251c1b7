// Slices that have numbers, as the edges of a graph that end at each node: the largest elements of each number. Sizes
// may be 0; results must not overlap inputs. x is [batch, outer, count, inner] and has the numbers `indices`
// [batch, count]; what belongs to each number is [batch, outer, rows, inner].
#ifndef CLEAVE_RUNTIME_KERNELS_SEGMENTS_H_
#define CLEAVE_RUNTIME_KERNELS_SEGMENTS_H_

#include <cstdint>

#include "runtime/kernels/indexing.h"

namespace cleave::runtime {

// y[b, o, r, :] = the largest of `fill` and of x[b, o, i, :] for the i with indices[b, i] = first_row + r; NaN where
// one is.
void SegmentMax(const float* x, const int32_t* indices, const RowIndexing& indexing, float fill, float* y);

// first[b, o, r, :] = the smallest of these i where x[b, o, i, :] is that; 2147483647 where only `fill` is.
void SegmentArgmax(const float* x, const int32_t* indices, const RowIndexing& indexing, float fill, int32_t* first);

// first[b, o, r, :] = first_slice plus the smallest of these i where x[b, o, i, :] = y[b, o, r, :], NaNs
// being equal; 2147483647 where there is none.
void SegmentFirst(const float* x, const float* y, const int32_t* indices, const RowIndexing& indexing,
                  int64_t first_slice, int32_t* first);

// dx[b, o, i, :] = dy[b, o, r, :] where first[b, o, r, :] = first_slice + i, r the row of i; else zero.
void SegmentMaxGradient(const float* dy, const int32_t* first, const int32_t* indices, const RowIndexing& indexing,
                        int64_t first_slice, float* dx);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_SEGMENTS_H_
