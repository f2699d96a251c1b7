// Softmax of the last dimension, its logarithm, and the gradients of both.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/lift.h"
#include "ir/graph/ops/rows.h"

namespace cleave::ir {
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
    const RowExpSum row = RowExpSumOf(x, rows.length);
    for (int64_t c = 0; c < rows.length; ++c) y[c] = std::exp(x[c] - row.largest) / row.sum;
  }
}

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

Gradients LogSoftmaxGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return {builder.Add(OpKind::kLogSoftmaxGradient, {dy, op.id}, {}, GradientName(op, "x"))};
}

OpId DistributeLogSoftmax(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const RowExponentials parts = ExponentialsOf(builder, op.inputs[0], op.name);
  const OpId log = builder.Add(OpKind::kLog, {parts.sum}, {}, absl::StrCat(op.name, ".log"));
  return builder.Add(OpKind::kSub, {parts.shifted, log}, {}, op.name);
}

void EvaluateLogSoftmax(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* x = evaluation.inputs[0]->values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * rows.length;
    const RowExpSum row = RowExpSumOf(x, rows.length);
    const double log = std::log(row.sum);
    for (int64_t c = 0; c < rows.length; ++c) y[c] = x[c] - row.largest - log;
  }
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

OpDefinition DefineSoftmax() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .overwrites = 0,
                      .reads_16_bits = {0},
                      .gives_16_bits = true,
                      .signature = {{.name = "x"}},
                      .summary = "exp(x) divided by its sum over the last dimension",
                      .infer = InferRows,
                      .rule = SoftmaxRule,
                      .gradient = SoftmaxGradients,
                      .flops = FlopsPerElement<15>,
                      .distribute = DistributeSoftmax,
                      .evaluate = EvaluateSoftmax,
                      .batch = BatchSame,
                      .calls = [](const CallSite& site) { return RowsCall(site, "Softmax"); }};
}

OpDefinition DefineSoftmaxGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .reads_16_bits = {0, 1},
                      .gives_16_bits = true,
                      .signature = {{.name = "dy"}, {.name = "y"}},
                      .summary = "y * (dy - sum of dy * y)",
                      .infer = InferSoftmaxGradient,
                      .rule = SoftmaxGradientRule,
                      .flops = FlopsPerElement<4>,
                      .distribute = DistributeSoftmaxGradient,
                      .evaluate = EvaluateSoftmaxGradient,
                      .calls = [](const CallSite& site) { return RowsCall(site, "SoftmaxGradient"); }};
}

OpDefinition DefineLogSoftmax() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .reads_16_bits = {0},
                      .gives_16_bits = true,
                      .signature = {{.name = "x"}},
                      .summary = "logarithm of the softmax over the last dimension",
                      .infer = InferRows,
                      .rule = SoftmaxRule,
                      .gradient = LogSoftmaxGradients,
                      .flops = FlopsPerElement<15>,
                      .distribute = DistributeLogSoftmax,
                      .evaluate = EvaluateLogSoftmax,
                      .batch = BatchSame,
                      .calls = [](const CallSite& site) { return RowsCall(site, "LogSoftmax"); }};
}

OpDefinition DefineLogSoftmaxGradient() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .reads_16_bits = {0, 1},
                      .gives_16_bits = true,
                      .signature = {{.name = "dy"}, {.name = "y"}},
                      .summary = "dy - exp(y) * sum of dy",
                      .infer = InferSoftmaxGradient,
                      .rule = SoftmaxGradientRule,
                      .flops = FlopsPerElement<14>,
                      .distribute = DistributeLogSoftmaxGradient,
                      .evaluate = EvaluateLogSoftmaxGradient,
                      .calls = [](const CallSite& site) { return RowsCall(site, "LogSoftmaxGradient"); }};
}

}  // namespace cleave::ir
