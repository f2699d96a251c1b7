// Functions of rows: softmax, layer normalisation and their gradients. Tensors are row-major f32 [rows, columns]; every
// row is independent. Results must not overlap inputs. Either size may be 0.
#ifndef CLEAVE_RUNTIME_KERNELS_ROWS_H_
#define CLEAVE_RUNTIME_KERNELS_ROWS_H_

#include <cstdint>

namespace cleave::runtime {

void Softmax(const float* x, int64_t rows, int64_t columns, float* y);
void SoftmaxGradient(const float* dy, const float* y, int64_t rows, int64_t columns, float* dx);
void LogSoftmax(const float* x, int64_t rows, int64_t columns, float* y);
void LogSoftmaxGradient(const float* dy, const float* y, int64_t rows, int64_t columns, float* dx);

// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, with mean and variance of the row: Ba, Kiros and Hinton
// (2016).
void LayerNorm(const float* x, const float* scale, const float* shift, int64_t rows, int64_t columns, float epsilon,
               float* y);
void LayerNormGradientInput(const float* dy, const float* x, const float* scale, int64_t rows, int64_t columns,
                            float epsilon, float* dx);
// The gradient by scale, [columns]: a sum over the rows.
void LayerNormGradientScale(const float* dy, const float* x, int64_t rows, int64_t columns, float epsilon,
                            float* dscale);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_ROWS_H_
