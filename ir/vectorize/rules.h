// The batched form of every kind of op that a model can call. Inside of ir/vectorize only.
//
// A rule adds what computes the op for all elements. It may leave the op to be unrolled (nullopt) where an input that
// it has no form for is mapped; a kind without a rule always is.
#ifndef CLEAVE_IR_VECTORIZE_RULES_H_
#define CLEAVE_IR_VECTORIZE_RULES_H_

#include <map>
#include <optional>
#include <string>

#include "ir/vectorize/lift.h"

namespace cleave {

using BatchRule = std::optional<OpId> (*)(Lift& lift);

// Null: unrolled.
BatchRule BatchRuleOf(OpKind kind);

// Every kind that the table decides on, with its rule or null.
const std::map<OpKind, BatchRule>& BatchRules();

// elementwise.cc
std::optional<OpId> BatchSame(Lift& lift);  // One tensor; what the op looks at are last dimensions.
std::optional<OpId> BatchBroadcasting(Lift& lift);
std::optional<OpId> BatchBiasAdd(Lift& lift);
std::optional<OpId> BatchBroadcastTo(Lift& lift);

// reductions.cc
std::optional<OpId> BatchReduction(Lift& lift);  // `axes`
std::optional<OpId> BatchAlongAxis(Lift& lift);  // `axis`, of the first tensor, which alone is mapped.
std::optional<OpId> BatchLayerNorm(Lift& lift);
std::optional<OpId> BatchPooling(Lift& lift);

// products.cc
std::optional<OpId> BatchMatmul(Lift& lift);
std::optional<OpId> BatchEinsum(Lift& lift);
std::optional<OpId> BatchConv2d(Lift& lift);

// losses.cc
std::optional<OpId> BatchCrossEntropy(Lift& lift);
std::optional<OpId> BatchAccuracy(Lift& lift);
std::optional<OpId> BatchMse(Lift& lift);
std::optional<OpId> BatchMae(Lift& lift);
std::optional<OpId> BatchHuber(Lift& lift);
std::optional<OpId> BatchBceWithLogits(Lift& lift);

// movement.cc
std::optional<OpId> BatchReshape(Lift& lift);
std::optional<OpId> BatchTranspose(Lift& lift);
std::optional<OpId> BatchSlice(Lift& lift);
std::optional<OpId> BatchPad(Lift& lift);
std::optional<OpId> BatchConcat(Lift& lift);
std::optional<OpId> BatchEmbedding(Lift& lift);
std::optional<OpId> BatchGather(Lift& lift);
std::optional<OpId> BatchAllToAll(Lift& lift);

}  // namespace cleave

#endif  // CLEAVE_IR_VECTORIZE_RULES_H_
