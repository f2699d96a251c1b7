// Partial sums of values of 16 bits in f32. Private to ir/transforms/distribute.
//
//   h = matmul(x, w), bf16, partial(m0: sum)    becomes    h = matmul(x, w), f32, partial(m0: sum)
//   y = relu(h) reads [m1, -]                              h.bf16 = cast(h) in [m1, -], y = relu(h.bf16)
//
// Each rank keeps its part as it was added up, the parts are added up in f32, and the value is rounded once. Ops
// through which partial sums pass give f32 as well. All other readers read the cast, which lies as the first of them
// reads.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_WIDE_SUMS_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_WIDE_SUMS_H_

#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// `distributed` as it is where no value of 16 bits is made in partial sums.
Distributed WithWideSums(Distributed distributed);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_WIDE_SUMS_H_
