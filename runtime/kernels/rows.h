// Functions of rows: softmax, layer normalisation and their gradients. Tensors are row-major [rows, columns]; every row
// is independent, and is computed in f32. Results must not overlap inputs, but that y of Softmax may lie over x, `sum`
// of LayerNorm over x or `added`, and dx of LayerNormGradient over dy or `other`, where both have one type. Either size
// may be 0.
#ifndef CLEAVE_RUNTIME_KERNELS_ROWS_H_
#define CLEAVE_RUNTIME_KERNELS_ROWS_H_

#include <cstdint>

#include "runtime/device/reals.h"

namespace cleave::runtime {

void Softmax(ConstReals x, int64_t rows, int64_t columns, Reals y);
void SoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx);
void LogSoftmax(ConstReals x, int64_t rows, int64_t columns, Reals y);
void LogSoftmaxGradient(ConstReals dy, ConstReals y, int64_t rows, int64_t columns, Reals dx);

// How rows are normalized: their mean is subtracted, if `centered`, and they are divided by sqrt(mean square +
// epsilon).
struct RowNorm {
  float epsilon = 1e-5f;
  bool centered = true;
};

// y = (s - mean) / sqrt(variance + epsilon) * scale + shift, with mean and variance of the row: Ba, Kiros and Hinton
// (2016); not centered: s / sqrt(mean square + epsilon) * scale + shift, Zhang and Sennrich (2019). s is x + added, and
// is also written to `sum`. `added`, `sum` and `shift` may be null.
void LayerNorm(ConstReals x, ConstReals added, const float* scale, const float* shift, int64_t rows, int64_t columns,
               RowNorm norm, float* sum, Reals y);
// Its gradients, from that by its result: those by s, scale and shift, of which any may be null where it is not wanted.
// The last two, [columns], are sums over the rows, and are 0 without rows. `scale` may be null where that by s is not
// wanted. `dx` and `rounded` get the gradient by s, plus `other` if it is not null. Each gradient is the same bit for
// bit, whichever others are wanted, where all tensors begin at places for vectors.
void LayerNormGradient(ConstReals dy, ConstReals x, const float* scale, const float* other, int64_t rows,
                       int64_t columns, RowNorm norm, Reals dx, Reals rounded, float* dscale, float* dshift);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ROWS_H_
