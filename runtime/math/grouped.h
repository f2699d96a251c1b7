// Products of rows, each with the matrix of its group: the experts of a mixture. As for runtime/math/math.h, the
// implementation is linked.
//
//   // y[rows, 512] = row r of x[rows, 128] times the matrix groups[r] of up[8, 512, 128]
//   GroupedMatMul({.rows = rows, .k = 128, .n = 512, .groups = 8, .transpose_b = true}, x, up, groups, y);
//
// All tensors are row-major and contiguous, and do not overlap. Rows may stand in any order: those of one group are
// multiplied together. Any size may be 0.
#ifndef CLEAVE_RUNTIME_MATH_GROUPED_H_
#define CLEAVE_RUNTIME_MATH_GROUPED_H_

#include <cstdint>

namespace cleave::runtime {

struct GroupedShape {
  int64_t rows = 0;
  int64_t k = 0;
  int64_t n = 0;
  int64_t groups = 0;        // Of which there are matrices, and
  int64_t first_group = 0;   // the number of the first of them.
  bool transpose_b = false;  // The matrices are stored n x k instead of k x n.
};

// y[r, :] = x[r, :] weights[groups[r] - first_group], and zeros where there is no such matrix. x [rows, k], weights
// [groups, k, n], y [rows, n]. In is float, BFloat16 or Float16, and Out is In or float.
template <typename In, typename Out>
void GroupedMatMul(const GroupedShape& shape, const In* x, const In* weights, const int32_t* groups, Out* y);

// y[g] = the sum over the rows r of group first_group + g of the products a[r, i] b[r, j]: the gradient by the
// matrices. a [rows, k], b [rows, n], y [groups, k, n].
template <typename In>
void GroupedMatMulSum(const GroupedShape& shape, const In* a, const In* b, const int32_t* groups, float* y);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_GROUPED_H_
