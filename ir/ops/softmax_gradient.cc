#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

InferResult InferSoftmaxGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckSameShape(inputs, 0, 1, "y")) return *error;
  return InferRows(inputs, attributes);
}

Rule SoftmaxGradientRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kAll}, .linear = {{0}}}.For(inputs[0].shape);
}

OpId DistributeSoftmaxGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId dy = op.inputs[0], y = op.inputs[1];
  const OpId products = builder.Add(OpKind::kMul, {dy, y}, {}, absl::StrCat(op.name, ".products"));
  const OpId sum = RowSum(builder, products, op.name);
  const OpId difference = builder.Add(OpKind::kSub, {dy, sum}, {}, absl::StrCat(op.name, ".difference"));
  return builder.Add(OpKind::kMul, {y, difference}, {}, op.name);
}

void EvaluateSoftmaxGradient(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* y = evaluation.inputs[1]->values.data() + r * rows.length;
    double* dx = evaluation.output.values.data() + r * rows.length;
    double sum = 0;
    for (int64_t c = 0; c < rows.length; ++c) sum += dy[c] * y[c];
    for (int64_t c = 0; c < rows.length; ++c) dx[c] = y[c] * (dy[c] - sum);
  }
}

}  // namespace

OpDefinition DefineSoftmaxGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = "y"}},
                      .summary = "y * (dy - sum of dy * y)",
                      .infer = InferSoftmaxGradient,
                      .rule = SoftmaxGradientRule,
                      .flops = FlopsPerElement<4>,
                      .distribute = DistributeSoftmaxGradient,
                      .evaluate = EvaluateSoftmaxGradient};
}

}  // namespace cleave
