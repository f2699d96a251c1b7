// The functions that define the ops of ir/op_kind/table.def. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_DEFINE_H_
#define CLEAVE_IR_OPS_DEFINE_H_

#include "ir/ops/ops.h"

namespace cleave {

#define CLEAVE_OP(Name, name) OpDefinition Define##Name();
#include "ir/op_kind/table.def"
#undef CLEAVE_OP

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_DEFINE_H_
