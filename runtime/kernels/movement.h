// Moving elements: boxes, transposition, causal mask, one tensor or another. Row-major tensors; sizes may be 0; results
// must not overlap inputs.
#ifndef CLEAVE_RUNTIME_KERNELS_MOVEMENT_H_
#define CLEAVE_RUNTIME_KERNELS_MOVEMENT_H_

#include <cstdint>
#include <vector>

#include "runtime/device/scalar.h"

namespace cleave::runtime {

// T is float, int32_t, int8_t, BFloat16, Float16, Float8E4M3 or Float8E5M2.
template <typename T>
void Copy(const T* source, int64_t count, T* target);
template <typename T>
void Fill(T value, int64_t count, T* target);

// target = the box of `source` that starts at `begin` and has `size` elements per dimension.
template <typename T>
void CopyBox(const T* source, const std::vector<int64_t>& shape, const std::vector<int64_t>& begin,
             const std::vector<int64_t>& size, T* target);

// The box of `target` that starts at `begin` = source, which has `size` elements per dimension.
template <typename T>
void PasteBox(const T* source, const std::vector<int64_t>& size, const std::vector<int64_t>& begin,
              const std::vector<int64_t>& shape, T* target);

// Dimension d of the target is dimension permutation[d] of the source, which has `shape`.
template <typename T>
void Transpose(const T* source, const std::vector<int64_t>& shape, const std::vector<int>& permutation, T* target);

// Rows in zigzag order (runtime/kernels/zigzag.h), or with `inverse` in their own order again: x and y are [outer,
// rows, inner], `elements` the product of the last two.
template <typename T>
void MoveZigzag(const T* x, int64_t outer, int64_t elements, int64_t pairs, bool inverse, T* y);

// The `pieces` equal pieces of the rows from number `turn` on, and behind them those before; x and y as above.
template <typename T>
void MovePieces(const T* x, int64_t outer, int64_t elements, int64_t pieces, int64_t turn, T* y);

// y = x where the column is at most the row, both counted in the whole matrix, and `fill` elsewhere; with a `window`
// other than 0 the row keeps only the last so many of these columns. x: `matrices` times [rows, columns], whose first
// element is element (first_row, first_column) of the whole matrix. T is float, BFloat16 or Float16.
template <typename T>
void CausalMask(const T* x, int64_t matrices, int64_t rows, int64_t columns, int64_t first_row, int64_t first_column,
                int64_t window, float fill, T* y);

// y = x in the columns from first[i][r] up to end[i][r], counted in the whole matrix, and `fill` elsewhere. x [samples,
// heads, rows, columns], first and end [samples, rows].
template <typename T>
void RangeMask(const T* x, int64_t samples, int64_t heads, int64_t rows, int64_t columns, int64_t first_column,
               const int32_t* first, const int32_t* end, float fill, T* y);

// y = x in training, whose steps are counted from 1, and `otherwise` at step 0, which is testing.
void WhileTraining(const Scalar<uint64_t>& step, const float* x, const float* otherwise, int64_t count, float* y);

// y = x in training. In testing, at step 0, x is added to `kept`, and y is what is kept then.
void AddToTotal(const Scalar<uint64_t>& step, const float* x, int64_t count, double* kept, float* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_MOVEMENT_H_
