// Smaller kernels that slide as a large one does. Private to ir/proof/check.
#ifndef CLEAVE_IR_PROOF_CHECK_SMALL_SLIDING_H_
#define CLEAVE_IR_PROOF_CHECK_SMALL_SLIDING_H_

#include "ir/tensor/piece/sliding.h"

namespace cleave::ir {

// So many kernels are tried.
inline constexpr int kSlidings = 100;

// The number `attempt` of the kernels for which the same things are equal, smaller and larger as for the original one:
// kernel, stride and dilation than 1, padding than 0, the span than the stride (places overlap, touch, or lie apart),
// the padding than the span, and the images than their places times the stride. Number 0 is the smallest; others are
// drawn among larger and larger ones. A kernel that is small already stays, and so does one from number kSlidings on.
Sliding SmallSliding(const Sliding& original, int attempt);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SMALL_SLIDING_H_
