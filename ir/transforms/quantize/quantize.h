// Matrices that nothing trains, stored in 8 bits: of each row numbers from -127 to 127, and one scale.
//
//   w = parameter f32[out, in]   ->   w_i8   = parameter i8[out, in], w_scale = parameter f32[out, 1],
//                                     w = dequantize(w_i8, w_scale)
//
//   scale = the largest |w| of the row / 127,    number = w / scale, rounded to the nearest, halves to even
//
// Both are made where first values are read (runtime/checkpoint/matrix_part.h), so no rank ever holds the matrix as it
// was. What `dequantize` makes is dropped behind its last forward reader and made again for the backward pass.
#ifndef CLEAVE_IR_TRANSFORMS_QUANTIZE_QUANTIZE_H_
#define CLEAVE_IR_TRANSFORMS_QUANTIZE_QUANTIZE_H_

#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

struct QuantizeOptions {
  bool trains = true;  // There will be a backward pass.
};

// A row is what lies along the last dimension. Stored so are parameters of two or more dimensions that neither an
// optimizer nor an update changes, that a `matmul` or `einsum` reads, perhaps transposed, and that nothing looks up
// rows of or convolves with. A pin of the matrix becomes one of its numbers; what makes the matrix is of the region and
// the stage of its first reader. REQUIRES: `forward` has no backward ops and is not manual. Linear in ops.
Graph Quantize(Graph forward, const QuantizeOptions& options, Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_QUANTIZE_QUANTIZE_H_
