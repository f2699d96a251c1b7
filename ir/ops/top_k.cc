#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/ranking.h"

namespace cleave {
namespace {

InferResult InferTopKValues(Types inputs, const Attributes& attributes) {
  return InferTopK(inputs, attributes, DType::kF32);
}

Gradients TopKGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const std::string name = GradientName(op, "x");
  const OpId indices = builder.Add(OpKind::kTopKIndices, {x}, op.attributes, name);
  const int64_t elements = builder.type(x).shape.back();
  return {builder.Add(OpKind::kTopKGradient, {dy, indices}, {{attribute::kElements, elements}}, name)};
}

// The first ranked of the candidates of all pieces.
OpId DistributeTopK(GraphBuilder& builder, const Op& op, absl::Span<const int64_t> pieces) {
  const int64_t count = pieces[builder.type(op.inputs[0]).shape.size() - 1];
  const OpId candidates =
      AddCandidates(builder, OpKind::kTopKCandidates, op, count, absl::StrCat(op.name, ".candidates"));
  return builder.Add(OpKind::kTopK, {candidates}, op.attributes, op.name);
}

void EvaluateTopK(const Evaluation& evaluation) {
  const Tensor& x = *evaluation.inputs[0];
  const Rows rows = RowsOf(x);
  const int64_t k = evaluation.attributes.Get(attribute::kK);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* row = x.values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * k;
    for (int64_t position : FirstRanked(row, rows.length, k)) *y++ = row[position];
  }
}

}  // namespace

OpDefinition DefineTopK() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = TopKSignature(),
                      .summary = "the k largest elements of the last dimension, largest first",
                      .infer = InferTopKValues,
                      .rule = TopKRule,
                      .gradient = TopKGradients,
                      .flops = FlopsPerInputElement<4>,
                      .distribute = DistributeTopK,
                      .evaluate = EvaluateTopK};
}

}  // namespace cleave
