// A kernel that slides along a dimension, as convolutions and poolings have it.
//
// Place i of the kernel looks with tap t at element i * stride - padding + t * dilation; where there is no such element
// it sees padding.
#ifndef CLEAVE_IR_TENSOR_PIECE_SLIDING_H_
#define CLEAVE_IR_TENSOR_PIECE_SLIDING_H_

#include <cstdint>

#include "ir/tensor/piece/piece.h"

namespace cleave::ir {

struct Sliding {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;  // On each side.
  int64_t dilation = 1;

  // The number of elements from the first to the last at which the kernel looks at one place.
  int64_t span() const { return dilation * (kernel - 1) + 1; }
  // The number of places of the kernel over `input` elements; 0 or negative where it does not fit.
  int64_t OutputSize(int64_t input) const;
  // The fewest elements over which the kernel has `output` places; up to stride - 1 more change nothing.
  int64_t InputSize(int64_t output) const;
  // The window of the input, which has `input` elements, that a piece of the output reads; and the window of the
  // output, which has `output` elements, that reads a piece of the input.
  Window OverInput(int64_t input, int64_t output) const;
  Window OverOutput(int64_t input, int64_t output) const;

  bool operator==(const Sliding&) const = default;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TENSOR_PIECE_SLIDING_H_
