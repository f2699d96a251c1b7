// What the communication primitives do to the tensors of all ranks. Inside of ir/manual only.
#ifndef CLEAVE_IR_MANUAL_COMMUNICATE_H_
#define CLEAVE_IR_MANUAL_COMMUNICATE_H_

#include "ir/manual/interpret_ranks.h"

namespace cleave {

// The value of `op` on every rank, given that of its only input. REQUIRES: it is a communication primitive.
TensorOnRanks Communicate(const std::vector<RankAxis>& axes, const Op& op, const TensorOnRanks& x);

}  // namespace cleave

#endif  // CLEAVE_IR_MANUAL_COMMUNICATE_H_
