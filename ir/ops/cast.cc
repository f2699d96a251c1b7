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
                 .help = {"element types are f32 and i32"}};
}

// Truncation is not linear.
Rule CastRule(Types inputs, const TensorType& output, const Attributes&) {
  const bool linear = output.dtype == DType::kF32 || inputs[0].dtype == DType::kI32;
  return BroadcastRule(inputs, output, linear ? LinearGroups{{0}} : LinearGroups{});
}

Gradients CastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  if (op.type.dtype == DType::kF32 && builder.type(op.inputs[0]).dtype == DType::kF32) return {dy};
  return {std::nullopt};
}

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
  return definition;
}

}  // namespace cleave
