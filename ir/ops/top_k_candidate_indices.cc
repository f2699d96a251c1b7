// Indices in the whole row. Where a piece has fewer than k elements, one that no element has fills its places.

#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferTopKCandidateIndices(Types inputs, const Attributes& attributes) {
  return InferCandidates(inputs, attributes, DType::kI32);
}

void EvaluateTopKCandidateIndices(const Evaluation& evaluation) {
  for (const Candidate& candidate : CandidatesOf(evaluation)) {
    evaluation.output.values[candidate.slot] = static_cast<double>(candidate.index);
  }
}

}  // namespace

OpDefinition DefineTopKCandidateIndices() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = CandidatesSignature(),
                      .summary = "indices of the k largest elements of each piece of the last dimension",
                      .infer = InferTopKCandidateIndices,
                      .rule = CandidatesRule,
                      .flops = FlopsPerInputElement<4>,
                      .evaluate = EvaluateTopKCandidateIndices};
}

}  // namespace cleave
