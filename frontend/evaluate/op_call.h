// Calls of ops of the table.
#ifndef CLEAVE_FRONTEND_EVALUATE_OP_CALL_H_
#define CLEAVE_FRONTEND_EVALUATE_OP_CALL_H_

#include "frontend/evaluate/pieces.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {

Value CallOp(const ir::OpDefinition& called, const CallSite& site, Pieces& pieces);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_OP_CALL_H_
