// The sum over all rows of dy times the normalized row.

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/normalizing.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

InferResult InferLayerNormGradientScale(Types inputs, const Attributes& attributes) {
  if (auto error = CheckSameShape(inputs, 0, 1, "x")) return *error;
  const InferResult rows = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(rows)) return rows;
  return TensorType{DType::kF32, {inputs[0].shape.back()}};
}

Rule LayerNormGradientScaleRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kAll},
                  .output = RowPart::kLast,
                  .leading = FactorKind::kReduced,
                  .linear = {{0}}}
      .For(inputs[0].shape);
}

Flops LayerNormGradientScaleFlops(Types inputs, const TensorType&, const Attributes&) {
  return Flops(8.0 * static_cast<double>(inputs[0].elements()));
}

OpId DistributeLayerNormGradientScale(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const OpId normalized = Normalized(builder, op.inputs[1], op.attributes.Get(attribute::kEpsilon), op.name).values;
  const OpId products = builder.Add(OpKind::kMul, {op.inputs[0], normalized}, {}, absl::StrCat(op.name, ".products"));
  return SumToType(builder, products, op.type, op.name);
}

void EvaluateLayerNormGradientScale(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const double epsilon = evaluation.attributes.Get(attribute::kEpsilon);
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* dy = evaluation.inputs[0]->values.data() + r * rows.length;
    const double* x = evaluation.inputs[1]->values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, epsilon);
    for (int64_t c = 0; c < rows.length; ++c) {
      evaluation.output.values[static_cast<size_t>(c)] += dy[c] * (x[c] - moments.mean) * moments.inverse_deviation;
    }
  }
}

}  // namespace

OpDefinition DefineLayerNormGradientScale() {
  return OpDefinition{.op_class = OpClass::kReduction,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = "x"}, RequiredAttribute(attribute::kEpsilon)},
                      .summary = "gradient of layer_norm by its scale",
                      .infer = InferLayerNormGradientScale,
                      .rule = LayerNormGradientScaleRule,
                      .flops = LayerNormGradientScaleFlops,
                      .distribute = DistributeLayerNormGradientScale,
                      .evaluate = EvaluateLayerNormGradientScale};
}

}  // namespace cleave
