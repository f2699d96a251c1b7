// The functions that define the ops of table.def, one per file. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_TABLE_H_
#define CLEAVE_IR_OPS_TABLE_H_

#include "ir/ops/ops.h"

namespace cleave {

#define CLEAVE_OP(Name) OpDefinition Define##Name();
#include "ir/ops/table.def"
#undef CLEAVE_OP

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_TABLE_H_
