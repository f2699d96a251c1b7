// The reference matrix product that matmul and matmul_sum share. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_PRODUCTS_H_
#define CLEAVE_IR_OPS_PRODUCTS_H_

#include <cstdint>

namespace cleave {

struct ProductSizes {
  int64_t i = 0;
  int64_t k = 0;
  int64_t j = 0;
};

// A matrix in memory: element (row, column) stands at row * `row` + column * `column`.
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

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_PRODUCTS_H_
