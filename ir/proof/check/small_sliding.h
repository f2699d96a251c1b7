// A smaller kernel that slides as a large one does. Private to ir/proof/check.
#ifndef CLEAVE_IR_PROOF_CHECK_SMALL_SLIDING_H_
#define CLEAVE_IR_PROOF_CHECK_SMALL_SLIDING_H_

#include <cstdint>

#include "ir/tensor/piece/sliding.h"

namespace cleave::ir {

// The smallest kernel over at least `least_span` elements for which the same things are equal, smaller and larger as
// for the original one: kernel, stride and dilation than 1, padding than 0, the span than the stride (places overlap,
// touch, or lie apart), the padding than the kernel, and the images than their places times the stride. One that is
// small already, or has none that is smaller, stays.
Sliding SmallSliding(const Sliding& original, int64_t least_span);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SMALL_SLIDING_H_
