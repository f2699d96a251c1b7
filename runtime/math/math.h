// Matrix products of local tensors. The implementation is linked: runtime/math/onednn or runtime/math/cublas.
//
//   // h1_matmul[rows, 512] = image[rows, 784] * transpose(h1_weight[512, 784])
//   MatMul({.m = rows, .n = 512, .k = 784, .transpose_b = true}, image, h1_weight, h1_matmul);
//
// All tensors are row-major and contiguous, and do not overlap. Products of 16 bits are added up in f32, and rounded
// once where the result has 16 bits. Any size may be 0: with k = 0 the product is zeros.
#ifndef CLEAVE_RUNTIME_MATH_MATH_H_
#define CLEAVE_RUNTIME_MATH_MATH_H_

#include <cstdint>

#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/math/precision.h"

namespace cleave::runtime {

struct MatMulShape {
  int64_t batch = 1;         // Independent products, one after another in a, b and c.
  int64_t m = 0;             // Rows of c.
  int64_t n = 0;             // Columns of c.
  int64_t k = 0;             // The contracted size.
  bool transpose_a = false;  // a is stored k x m instead of m x k.
  bool transpose_b = false;  // b is stored n x k instead of k x n.

  bool operator==(const MatMulShape& other) const {
    return batch == other.batch && m == other.m && n == other.n && k == other.k && transpose_a == other.transpose_a &&
           transpose_b == other.transpose_b;
  }
};

inline double FlopsOf(const MatMulShape& shape) {
  return 2.0 * static_cast<double>(shape.batch * shape.m) * static_cast<double>(shape.n * shape.k);
}

// c = a b + bias. `bias`, if there is one: n values, added to every row. What a library needs for a shape is prepared
// when a thread first uses it, and kept. In is float, BFloat16 or Float16, and Out is In or float.
template <typename In, typename Out>
void MatMul(const MatMulShape& shape, const In* a, const In* b, Out* c, const Out* bias = nullptr);

// c = a b where it is the first, else c += a b: the sum of the products of a step's micro-batches. In is float or
// BFloat16.
template <typename In>
void AccumulateMatMul(bool first, const MatMulShape& shape, const In* a, const In* b, float* c);

// Products that do more, for programs whose target has `Epilogues::kAll`: runtime/math/cublas only. T is float,
// BFloat16 or Float16. What may be null is taken from no argument's type.
template <typename T>
struct TypeOfOthers {
  using Type = T;
};

// before = a b + bias and y = gelu(before), in its tanh form. `bias`, n values, and `before` may be null.
template <typename T>
void MatMulGelu(const MatMulShape& shape, const T* a, const T* b, const typename TypeOfOthers<T>::Type* bias,
                typename TypeOfOthers<T>::Type* before, T* y);

// c = a b times the slope of gelu at `before`, which has the elements of c.
template <typename T>
void MatMulGeluGradient(const MatMulShape& shape, const T* a, const T* b, const T* before, T* c);

// c = a b, and over k the sums of a, m values, and of b, n values, of which either may be null: what is stored as rows
// is added up. REQUIRES: one product, in which a is stored transposed and b is not.
template <typename T>
void MatMulAndSums(const MatMulShape& shape, const T* a, const T* b, float* c, float* sums_a, float* sums_b);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_MATH_MATH_H_
