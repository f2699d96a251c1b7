#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferTopKIndices(Types inputs, const Attributes& attributes) {
  return InferTopK(inputs, attributes, DType::kI32);
}

// An index does not change with its element.
Gradients TopKIndicesGradients(GraphBuilder&, const Op&, OpId) { return {std::nullopt}; }

OpId DistributeTopKIndices(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  const int64_t count = pieces[builder.type(op.inputs[0]).shape.size() - 1];
  const OpId values = AddCandidates(builder, OpKind::kTopKCandidates, op, count, absl::StrCat(op.name, ".candidates"));
  const OpId indices =
      AddCandidates(builder, OpKind::kTopKCandidateIndices, op, count, absl::StrCat(op.name, ".candidate_indices"));
  return builder.Add(OpKind::kTopKMerge, {values, indices}, op.attributes, op.name);
}

void EvaluateTopKIndices(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Rows rows = RowsOf(x);
  const int64_t k = evaluation.attributes.Get(attribute::kK);
  for (int64_t r = 0; r < rows.count; ++r) {
    double* y = evaluation.output.values.data() + r * k;
    for (int64_t position : FirstRanked(x.values.data() + r * rows.length, rows.length, k)) {
      *y++ = static_cast<double>(position);
    }
  }
}

}  // namespace

OpDefinition DefineTopKIndices() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = TopKSignature(),
                      .summary = "indices of the k largest elements of the last dimension, largest first",
                      .infer = InferTopKIndices,
                      .rule = TopKRule,
                      .gradient = TopKIndicesGradients,
                      .flops = FlopsPerInputElement<4>,
                      .distribute = DistributeTopKIndices,
                      .evaluate = EvaluateTopKIndices};
}

}  // namespace cleave
