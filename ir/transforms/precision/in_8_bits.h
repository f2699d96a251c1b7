// Products whose factors have 8 bits. Inside of ir/transforms/precision only.
//
//   y = matmul(x, w, transpose_b)          of bf16 becomes
//
//   x.largest = reduce_max_abs(x)          over the whole tensor, on however many ranks it lies
//   x.unit    = f8_unit(x.largest)         a power of two
//   x.f8e4m3  = quantize(x, x.unit)
//   …                                      the same of w
//   y = scaled_matmul(x.f8e4m3, w.f8e4m3, x.unit, w.unit, transpose_b)
//
// and the two products of its gradients multiply the gradient by y, in f8e5m2, by the same w.f8e4m3 and x.f8e4m3.
#ifndef CLEAVE_IR_TRANSFORMS_PRECISION_IN_8_BITS_H_
#define CLEAVE_IR_TRANSFORMS_PRECISION_IN_8_BITS_H_

#include "ir/graph/graph.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {

// `casts` of the result: the ops that were inserted; ids with `old` in their names are of `graph`. REQUIRES: `graph`
// multiplies in bf16, and holds nothing of 8 bits.
Lowered MultiplyIn8Bits(const Graph& graph, absl::Span<const std::string> kept_weights);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_PRECISION_IN_8_BITS_H_
