// Collectives, slices and views on simulated ranks: what MPI and NCCL do to the local tensors of all ranks at once.
#ifndef CLEAVE_IR_PROOF_INTERPRET_COLLECTIVES_H_
#define CLEAVE_IR_PROOF_INTERPRET_COLLECTIVES_H_

#include <vector>

#include "absl/status/status.h"
#include "ir/program/program.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {

// Local tensors by value and rank; empty where nothing was written yet.
using RankValues = IdVector<ValueId, std::vector<Tensor>>;

// Each function writes its outputs on all ranks. An Internal error says that the pieces do not fit together.
absl::Status RunCollective(const Program& program, const Collective& collective, RankValues& values);
absl::Status RunSlice(const Program& program, const Slice& slice, RankValues& values);
absl::Status RunView(const Program& program, const View& view, RankValues& values);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_INTERPRET_COLLECTIVES_H_
