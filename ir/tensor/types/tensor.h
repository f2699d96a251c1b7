// A tensor with its values, for reference evaluation: values of every dtype are doubles, row-major, so that rounding
// does not disturb comparisons of a split and an unsplit computation. Integers are exact up to 2^53.
#ifndef CLEAVE_IR_TENSOR_TYPES_TENSOR_H_
#define CLEAVE_IR_TENSOR_TYPES_TENSOR_H_

#include <vector>

#include "ir/tensor/types/types.h"

namespace cleave::ir {

struct Tensor {
  Shape shape;
  std::vector<double> values;  // ElementCount(shape) of them.

  bool operator==(const Tensor&) const = default;
};

Tensor Zeros(const Shape& shape);

// The box of `tensor` that starts at `begin` and has shape `size`. REQUIRES: it lies inside.
Tensor Box(const Tensor& tensor, const Shape& begin, const Shape& size);

// Writes `piece` into `tensor` at `begin`. REQUIRES: it lies inside.
void PasteBox(const Tensor& piece, const Shape& begin, Tensor& tensor);

// Row-major strides in elements.
std::vector<int64_t> Strides(const Shape& shape);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_TYPES_TENSOR_H_
