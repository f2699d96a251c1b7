// Shared by matmul, matmul_sum and einsum: the reference product of matrices, and its call. Inside of ir/graph/ops
// only.
#ifndef CLEAVE_IR_GRAPH_OPS_PRODUCTS_H_
#define CLEAVE_IR_GRAPH_OPS_PRODUCTS_H_

#include <cstdint>

#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {

struct ProductSizes {
  int64_t i = 0;
  int64_t k = 0;
  int64_t j = 0;
};

// A matrix in memory: element (row, column) is at row * `row` + column * `column`.
struct StridedMatrix {
  const double* values;
  int64_t row;
  int64_t column;
};

// c[i, j] += sum over k of a[i, k] * b[k, j]; c is row-major.
inline void AddProduct(const ProductSizes& sizes, const StridedMatrix& a, const StridedMatrix& b, double* c) {
  for (int64_t i = 0; i < sizes.i; ++i) {
    for (int64_t k = 0; k < sizes.k; ++k) {
      const double factor = a.values[i * a.row + k * a.column];
      for (int64_t j = 0; j < sizes.j; ++j) c[i * sizes.j + j] += factor * b.values[k * b.row + j * b.column];
    }
  }
}

// `batch` products of matrices m x k and k x n, either of which may be stored transposed.
struct MatrixProduct {
  LocalSize batch = {};
  LocalSize m;
  LocalSize n;
  LocalSize k;
  bool transpose_a = false;
  bool transpose_b = false;
};

inline KernelCall MatMulCall(const MatrixProduct& product, Pointer a, Pointer b, Pointer result) {
  BracedList shape = {{{product.batch, "batch", 1}, {product.m, "m"}, {product.n, "n"}, {product.k, "k"}}};
  if (product.transpose_a) shape.fields.push_back({true, "transpose_a"});
  if (product.transpose_b) shape.fields.push_back({true, "transpose_b"});
  return {.function = "MatMul",
          .arguments = {shape, std::move(a), std::move(b), std::move(result)},
          .accumulating = "AccumulateMatMul"};
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_PRODUCTS_H_
