#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/table.h"

namespace cleave {
namespace {

InferResult InferCast(Types inputs, const Attributes& attributes) {
  const std::string& name = attributes.GetString("dtype");
  const std::optional<DType> dtype = ParseDType(name);
  if (dtype.has_value()) return TensorType{*dtype, inputs[0].shape};
  return OpError{.code = Code::kE0409,
                 .message = absl::StrCat("`cast` to `", name, "`, which is no element type"),
                 .help = {"element types are f32, bf16 and i32"}};
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
  return {builder.Add("cast", {dy}, {{"dtype", std::string(DTypeName(from))}}, GradientName(op, "x"))};
}

// In double, as all reference evaluation: a cast to bf16 does not round.
void EvaluateCast(const Evaluation& evaluation) {
  const bool truncate = evaluation.attributes.GetString("dtype") == DTypeName(DType::kI32);
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    const double value = evaluation.inputs[0]->values[i];
    evaluation.output.values[i] = truncate ? std::trunc(value) : value;
  }
}

}  // namespace

OpDefinition DefineCast() {
  OpDefinition definition = UnaryOp("cast", "each element as another type; f32 to i32 cuts the fraction off");
  definition.signature.push_back({.name = "dtype", .kind = ArgumentKind::kDType});
  definition.infer = InferCast;
  definition.rule = CastRule;
  definition.gradient = CastGradients;
  definition.evaluate = EvaluateCast;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave
