// Where a piece has fewer than k elements, -infinity fills its places.

#include <limits>

#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferTopKCandidates(Types inputs, const Attributes& attributes) {
  return InferCandidates(inputs, attributes, DType::kF32);
}

void EvaluateTopKCandidates(const Evaluation& evaluation) {
  for (const Candidate& candidate : CandidatesOf(evaluation)) {
    evaluation.output.values[candidate.slot] =
        candidate.position < 0 ? -std::numeric_limits<double>::infinity()
                               : evaluation.inputs[0]->values[static_cast<size_t>(candidate.position)];
  }
}

}  // namespace

OpDefinition DefineTopKCandidates() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = CandidatesSignature(),
                      .summary = "the k largest elements of each piece of the last dimension",
                      .infer = InferTopKCandidates,
                      .rule = CandidatesRule,
                      .flops = FlopsPerInputElement<4>,
                      .evaluate = EvaluateTopKCandidates};
}

}  // namespace cleave
