#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/ops/define.h"
#include "ir/ops/elementwise.h"

namespace cleave {
namespace {

InferResult InferCast(Types inputs, const Attributes& attributes) {
  return TensorType{attributes.Get(attribute::kDType), inputs[0].shape};
}

// Truncation is not linear. Rounding to bf16 counts as linear, as all rounding does: parts of a sum may be rounded one
// by one.
Rule CastRule(Types inputs, const TensorType& output, const Attributes&) {
  const bool linear = output.dtype != DType::kI32 || inputs[0].dtype == DType::kI32;
  return BroadcastRule(inputs, output, linear ? LinearGroups{{0}} : LinearGroups{});
}

Gradients CastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const DType from = builder.type(op.inputs[0]).dtype;
  if (from == DType::kI32 || op.type.dtype == DType::kI32) return {std::nullopt};
  if (from == op.type.dtype) return {dy};
  return {builder.Add(OpKind::kCast, {dy}, {{attribute::kDType, from}}, GradientName(op, "x"))};
}

// In double, as all reference evaluation: a cast to bf16 does not round.
void EvaluateCast(const Evaluation& evaluation) {
  const bool truncate = evaluation.attributes.Get(attribute::kDType) == DType::kI32;
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double value = evaluation.inputs[0]->values[i];
    evaluation.output.values[i] = truncate ? std::trunc(value) : value;
  }
}

}  // namespace

OpDefinition DefineCast() {
  OpDefinition definition = UnaryOp("each element as another type; f32 to i32 cuts the fraction off");
  definition.signature.push_back(RequiredAttribute(attribute::kDType));
  definition.infer = InferCast;
  definition.rule = CastRule;
  definition.gradient = CastGradients;
  definition.evaluate = EvaluateCast;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
