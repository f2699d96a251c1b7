#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

InferResult InferLogSoftmaxGradient(Types inputs, const Attributes& attributes) {
  if (auto error = CheckSameShape(inputs, 0, 1, "y")) return *error;
  return InferRows(inputs, attributes);
}

Rule LogSoftmaxGradientRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kAll}, .linear = {{0}}}.For(inputs[0].shape);
}

OpId DistributeLogSoftmaxGradient(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId dy = op.inputs[0];
  const OpId sum = RowSum(builder, dy, op.name);
  const OpId softmax = builder.Add(OpKind::kExp, {op.inputs[1]}, {}, absl::StrCat(op.name, ".exp"));
  const OpId share = builder.Add(OpKind::kMul, {softmax, sum}, {}, absl::StrCat(op.name, ".share"));
  return builder.Add(OpKind::kSub, {dy, share}, {}, op.name);
}

void EvaluateLogSoftmaxGradient(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* y = evaluation.inputs[1]->values.data() + r * rows.length;
    double* dx = evaluation.output.values.data() + r * rows.length;
    double sum = 0;
    for (int64_t c = 0; c < rows.length; ++c) sum += dy[c];
    for (int64_t c = 0; c < rows.length; ++c) dx[c] = dy[c] - std::exp(y[c]) * sum;
  }
}

}  // namespace

OpDefinition DefineLogSoftmaxGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = "y"}},
                      .summary = "dy - exp(y) * sum of dy",
                      .infer = InferLogSoftmaxGradient,
                      .rule = LogSoftmaxGradientRule,
                      .flops = FlopsPerElement<14>,
                      .distribute = DistributeLogSoftmaxGradient,
                      .evaluate = EvaluateLogSoftmaxGradient};
}

}  // namespace cleave
