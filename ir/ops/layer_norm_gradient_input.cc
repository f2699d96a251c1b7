// With n the normalized row, s its inverse deviation and g = dy * scale: dx = s * (g - mean(g) - n * mean(g * n)).

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/normalizing.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

InferResult InferLayerNormGradientInput(Types inputs, const Attributes& attributes) {
  if (auto error = CheckSameShape(inputs, 0, 1, "x")) return *error;
  return InferRows(inputs, attributes);
}

Rule LayerNormGradientInputRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kAll, RowPart::kLast}, .linear = {{0}, {2}}}.For(inputs[0].shape);
}

OpId DistributeLayerNormGradientInput(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const auto add = [&](OpKind kind, OpId a, OpId b, const char* part) {
    return builder.Add(kind, {a, b}, {}, absl::StrCat(op.name, part));
  };
  const NormalizedRows n = Normalized(builder, op.inputs[1], op.attributes.Get(attribute::kEpsilon), op.name);
  const OpId g = add(OpKind::kMul, op.inputs[0], op.inputs[2], ".scaled");
  const OpId mean = RowMean(builder, g, absl::StrCat(op.name, ".scaled"));
  const OpId products = add(OpKind::kMul, g, n.values, ".products");
  const OpId slope = RowMean(builder, products, absl::StrCat(op.name, ".products"));
  const OpId centered = add(OpKind::kSub, g, mean, ".scaled_centered");
  const OpId along = add(OpKind::kMul, n.values, slope, ".along");
  return add(OpKind::kMul, add(OpKind::kSub, centered, along, ".across"), n.inverse_deviation, "");
}

void EvaluateLayerNormGradientInput(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const double epsilon = evaluation.attributes.Get(attribute::kEpsilon);
  const double* scale = evaluation.inputs[2]->values.data();
  const double length = static_cast<double>(rows.length);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* x = evaluation.inputs[1]->values.data() + r * rows.length;
    double* dx = evaluation.output.values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, epsilon);
    auto normalized = [&](int64_t c) { return (x[c] - moments.mean) * moments.inverse_deviation; };
    double sum = 0;
    double sum_normalized = 0;
    for (int64_t c = 0; c < rows.length; ++c) {
      sum += dy[c] * scale[c];
      sum_normalized += dy[c] * scale[c] * normalized(c);
    }
    for (int64_t c = 0; c < rows.length; ++c) {
      dx[c] = moments.inverse_deviation * (dy[c] * scale[c] - sum / length - normalized(c) * sum_normalized / length);
    }
  }
}

}  // namespace

OpDefinition DefineLayerNormGradientInput() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .callable = false,
      .signature = {{.name = "dy"}, {.name = "x"}, {.name = "scale"}, RequiredAttribute(attribute::kEpsilon)},
      .summary = "gradient of layer_norm by its input",
      .infer = InferLayerNormGradientInput,
      .rule = LayerNormGradientInputRule,
      .flops = FlopsPerElement<16>,
      .distribute = DistributeLayerNormGradientInput,
      .evaluate = EvaluateLayerNormGradientInput};
}

}  // namespace cleave
