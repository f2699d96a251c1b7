// Reference execution of a manual model in double: every op on all ranks in turn. A compiled program must compute the
// same, and gradients are measured against it.
#ifndef CLEAVE_IR_PROOF_INTERPRET_INTERPRET_RANKS_H_
#define CLEAVE_IR_PROOF_INTERPRET_INTERPRET_RANKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/tensor.h"

namespace cleave::ir {

// [rank]
using TensorOnRanks = std::vector<Tensor>;

// Values of inputs, parameters and states, by op.
using RankSources = std::map<OpId, TensorOnRanks>;

// What computes ops of a kind on a rank in place of their definition: C++ bodies of ops that a model defines, which the
// definition does not know.
using Bodies =
    std::map<OpKind, std::function<void(const Op& op, absl::Span<const Tensor* const> inputs, Tensor& output)>>;

// The value of every op on every rank: result[op][rank]. `step` counts from 1. REQUIRES: VerifyGraph(graph) is empty,
// graph.is_manual(), and `sources` holds tensors of the right shape for every input, parameter and state.
IdVector<OpId, TensorOnRanks> InterpretRanks(const Graph& graph, const RankSources& sources, int64_t step,
                                             const Bodies& bodies = {});

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_INTERPRET_INTERPRET_RANKS_H_
