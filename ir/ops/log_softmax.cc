#include <cmath>

#include "ir/ops/define.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

Rule LogSoftmaxRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll}}.For(inputs[0].shape);
}

Gradients LogSoftmaxGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kLogSoftmaxGradient, {dy, op.id}, {}, GradientName(op, "x"))};
}

OpId DistributeLogSoftmax(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId log_sum = RowLogSumExp(builder, op.inputs[0], op.name);
  return builder.Add(OpKind::kSub, {op.inputs[0], log_sum}, {}, op.name);
}

void EvaluateLogSoftmax(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* x = evaluation.inputs[0]->values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * rows.length;
    const double log_sum = LogSumExp(x, rows.length);
    for (int64_t c = 0; c < rows.length; ++c) y[c] = x[c] - log_sum;
  }
}

}  // namespace

OpDefinition DefineLogSoftmax() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .signature = {{.name = "x"}},
                      .summary = "logarithm of the softmax over the last dimension",
                      .infer = InferRows,
                      .rule = LogSoftmaxRule,
                      .gradient = LogSoftmaxGradients,
                      .flops = FlopsPerElement<15>,
                      .distribute = DistributeLogSoftmax,
                      .evaluate = EvaluateLogSoftmax};
}

}  // namespace cleave
