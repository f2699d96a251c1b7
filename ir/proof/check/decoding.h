// The proof that a step of generation (ir/transforms/decode) computes what the model computes, for every place of a
// sequence: that the model does not look ahead, and that its step is right.
#ifndef CLEAVE_IR_PROOF_CHECK_DECODING_H_
#define CLEAVE_IR_PROOF_CHECK_DECODING_H_

#include <optional>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/transforms/decode/decode.h"

namespace cleave::ir {

// Makes the model small, as shrink.h does, and its step of two slots. Computes the model on random sequences, and its
// step for one place after another, at other places in each slot, and compares every value that the step has of the
// model, but for those that change with later tokens and are masked afterwards. Where the logits change with later
// tokens, the problem is the op through which these come in. A difference is an Internal error. REQUIRES: as
// MakeDecoding, which made a step of the graph.
absl::StatusOr<std::optional<DecodeProblem>> CheckDecoding(const Graph& graph, const DecodeOptions& options);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_DECODING_H_
