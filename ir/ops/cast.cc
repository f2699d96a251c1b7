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

std::vector<double> Truncates(const Attributes& attributes, int64_t) {
  return {attributes.GetString("dtype") == DTypeName(DType::kI32) ? 1.0 : 0.0};
}

}  // namespace

// A cast to bf16 does not round here: as all reference evaluation it is in double.
OpDefinition DefineCast() {
  const Scalar x = Variable("x"), truncates = Variable("truncates");
  OpDefinition definition =
      UnaryOp({.name = "cast", .parameters = {"x", "truncates"}, .value = Select(truncates, Truncate(x), x)},
              "each element as another type; f32 to i32 cuts the fraction off", Truncates);
  definition.signature.push_back({.name = "dtype", .kind = ArgumentKind::kDType});
  definition.infer = InferCast;
  definition.rule = CastRule;
  definition.gradient = CastGradients;
  return definition;
}

}  // namespace cleave
