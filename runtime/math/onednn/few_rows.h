// Private to runtime/math/onednn: products with few rows, as programs have them that continue texts token by token.
// Their time is that of reading b once. Libraries that make blocks of b first take some times as long.
#ifndef CLEAVE_RUNTIME_MATH_ONEDNN_FEW_ROWS_H_
#define CLEAVE_RUNTIME_MATH_ONEDNN_FEW_ROWS_H_

#include <cstdint>

#include "runtime/math/math.h"

namespace cleave::runtime {

constexpr int64_t kFewRows = 4;

// Whether MultiplyFewRows is for a product of this shape: few rows of a, and numbers of b that follow each other where
// they are read.
inline bool HasFewRows(const MatMulShape& shape) {
  constexpr int64_t kShortRow = 512;
  return shape.m <= kFewRows && (shape.transpose_b || shape.n <= kShortRow);
}

// c = a b + bias, as MatMul has it, or with `adds` c += a b + bias. Each element is summed by one thread and in one
// order. In is float or BFloat16. REQUIRES: HasFewRows(shape), and no size is 0.
template <typename In, typename Out>
void MultiplyFewRows(bool adds, const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_ONEDNN_FEW_ROWS_H_
