#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

Rule SoftmaxRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll}}.For(inputs[0].shape);
}

Gradients SoftmaxGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kSoftmaxGradient, {dy, op.id}, {}, GradientName(op, "x"))};
}

OpId DistributeSoftmax(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const RowExponentials parts = ExponentialsOf(builder, op.inputs[0], op.name);
  return builder.Add(OpKind::kDiv, {parts.exponentials, parts.sum}, {}, op.name);
}

void EvaluateSoftmax(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* x = evaluation.inputs[0]->values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * rows.length;
    const double log_sum = LogSumExp(x, rows.length);
    for (int64_t c = 0; c < rows.length; ++c) y[c] = std::exp(x[c] - log_sum);
  }
}

}  // namespace

OpDefinition DefineSoftmax() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = {{.name = "x"}},
                      .summary = "exp(x) divided by its sum over the last dimension",
                      .infer = InferRows,
                      .rule = SoftmaxRule,
                      .gradient = SoftmaxGradients,
                      .flops = FlopsPerElement<15>,
                      .distribute = DistributeSoftmax,
                      .evaluate = EvaluateSoftmax};
}

}  // namespace cleave
