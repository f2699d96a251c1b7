// What the communication primitives do to the tensors of all ranks. Private to ir/proof/interpret.
#ifndef CLEAVE_IR_PROOF_INTERPRET_COMMUNICATE_H_
#define CLEAVE_IR_PROOF_INTERPRET_COMMUNICATE_H_

#include "ir/proof/interpret/interpret_ranks.h"

namespace cleave::ir {

// The value of `op` on every rank, given that of its only input. REQUIRES: it is a communication primitive.
TensorOnRanks Communicate(const std::vector<RankAxis>& axes, const Op& op, const TensorOnRanks& x);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_INTERPRET_COMMUNICATE_H_
