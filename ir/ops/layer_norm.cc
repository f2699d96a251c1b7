// Layer normalization, Ba, Kiros and Hinton, 2016: each row of the last dimension to mean 0 and variance 1 (divided by
// the count), then scale and shift.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/define.h"
#include "ir/ops/normalizing.h"
#include "ir/ops/row_statistics.h"
#include "ir/ops/rows.h"

namespace cleave {
namespace {

InferResult InferLayerNorm(Types inputs, const Attributes& attributes) {
  InferResult result = InferRows(inputs, attributes);
  if (std::holds_alternative<OpError>(result)) return result;
  const Shape features = {inputs[0].shape.back()};
  const char* const names[] = {"x", "scale", "shift"};
  for (int i : {1, 2}) {
    if (auto error = CheckDType(inputs, i, DType::kF32, names[i])) return *error;
    const Shape& shape = inputs[static_cast<size_t>(i)].shape;
    if (shape == features) continue;
    return OpError{
        .code = Code::kE0411,
        .message = absl::StrCat("a ", names[i], " of ", ShapeText(shape), " for ", Plural(features[0], "feature")),
        .about = {{i, absl::StrCat("is ", ShapeText(shape), " instead of ", features[0])},
                  {0, absl::StrCat("has ", Plural(features[0], "element"), " in its last dimension")}}};
  }
  if (attributes.Get(attribute::kEpsilon) > 0) return result;
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`epsilon` is ", FormatDouble(attributes.Get(attribute::kEpsilon))),
                 .notes = {"it keeps the division by the deviation finite and is positive"}};
}

Rule LayerNormRule(Types inputs, const TensorType&, const Attributes&) {
  return RowsRule{.inputs = {RowPart::kAll, RowPart::kLast, RowPart::kLast}, .linear = {{1, 2}}}.For(inputs[0].shape);
}

Gradients LayerNormGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const Attributes epsilon = {{attribute::kEpsilon, op.attributes.Get(attribute::kEpsilon)}};
  const OpId dx = builder.Add(OpKind::kLayerNormGradientInput, {dy, x, op.inputs[1]}, epsilon, GradientName(op, "x"));
  const OpId dscale = builder.Add(OpKind::kLayerNormGradientScale, {dy, x}, epsilon, GradientName(op, "scale"));
  return {dx, dscale, SumToType(builder, dy, builder.type(op.inputs[2]), GradientName(op, "shift"))};
}

OpId DistributeLayerNorm(GraphBuilder& builder, const Op& op, absl::Span<const int64_t>) {
  const double epsilon = op.attributes.Get(attribute::kEpsilon);
  const OpId normalized = Normalized(builder, op.inputs[0], epsilon, op.name).values;
  const OpId scaled = builder.Add(OpKind::kMul, {normalized, op.inputs[1]}, {}, absl::StrCat(op.name, ".scaled"));
  return builder.Add(OpKind::kAdd, {scaled, op.inputs[2]}, {}, op.name);
}

void EvaluateLayerNorm(const Evaluation& evaluation) {
  const Rows rows = RowsOf(*evaluation.inputs[0]);
  const double epsilon = evaluation.attributes.Get(attribute::kEpsilon);
  const double* scale = evaluation.inputs[1]->values.data();
  const double* shift = evaluation.inputs[2]->values.data();
  for (int64_t r = 0; r < rows.count; ++r) {
    const double* x = evaluation.inputs[0]->values.data() + r * rows.length;
    double* y = evaluation.output.values.data() + r * rows.length;
    const RowMoments moments = MomentsOf(x, rows.length, epsilon);
    for (int64_t c = 0; c < rows.length; ++c) {
      y[c] = (x[c] - moments.mean) * moments.inverse_deviation * scale[c] + shift[c];
    }
  }
}

}  // namespace

OpDefinition DefineLayerNorm() {
  return OpDefinition{
      .op_class = OpClass::kReduction,
      .signature = {{.name = "x"}, {.name = "scale"}, {.name = "shift"}, OptionalAttribute(attribute::kEpsilon, 1e-5)},
      .summary = "rows of the last dimension to mean 0 and variance 1, times scale plus shift",
      .infer = InferLayerNorm,
      .rule = LayerNormRule,
      .gradient = LayerNormGradients,
      .flops = FlopsPerElement<8>,
      .distribute = DistributeLayerNorm,
      .evaluate = EvaluateLayerNorm};
}

}  // namespace cleave
