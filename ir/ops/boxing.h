// The sharding rule that slice and pad share. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_BOXING_H_
#define CLEAVE_IR_OPS_BOXING_H_

#include "ir/ops/elementwise.h"

namespace cleave {

// Factor d<n> for dimensions whose size stays; the others have whole factors of fixed size, s<n> in the input and t<n>
// in the output. REQUIRES: the same rank.
Rule BoxRule(const Shape& input, const Shape& output);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_BOXING_H_
