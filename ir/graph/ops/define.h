// The functions that define the ops of ir/graph/op_kind/table.def. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_DEFINE_H_
#define CLEAVE_IR_GRAPH_OPS_DEFINE_H_

#include "ir/graph/ops/ops.h"

namespace cleave::ir {

#define CLEAVE_OP(Name, name) OpDefinition Define##Name();
#include "ir/graph/op_kind/table.def"
#undef CLEAVE_OP

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_DEFINE_H_
