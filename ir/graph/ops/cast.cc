#include "absl/strings/str_cat.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {
namespace {

InferResult InferCast(Types inputs, const Attributes& attributes) {
  if (attributes.Get(attribute::kDType) == DType::kI8) {
    return OpError{.code = Code::kE0409, .message = "a cast to `i8`", .help = {"use `f32` or `i32`"}};
  }
  return TensorType{attributes.Get(attribute::kDType), inputs[0].shape};
}

// Truncation is not linear. Rounding to 16 bits counts as linear, as all rounding does: parts of a sum may be rounded
// one by one.
Rule CastRule(Types inputs, const TensorType& output, const Attributes&) {
  const bool linear = !IsInteger(output.dtype) || IsInteger(inputs[0].dtype);
  return BroadcastRule(inputs, output, linear ? LinearGroups{{0}} : LinearGroups{});
}

Gradients CastGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const DType from = builder.type(op.inputs[0]).dtype;
  if (IsInteger(from) || IsInteger(op.type.dtype)) return {std::nullopt};
  if (from == op.type.dtype) return {dy};
  return {builder.Add(OpKind::kCast, {dy}, {{attribute::kDType, from}}, GradientName(op, "x"))};
}

std::vector<double> Truncates(const Attributes& attributes, int64_t) {
  return {attributes.Get(attribute::kDType) == DType::kI32 ? 1.0 : 0.0};
}

}  // namespace

// A cast to 16 bits does not round here: like all reference evaluation it is done in double.
OpDefinition DefineCast() {
  const Scalar x = Variable("x"), truncates = Variable("truncates");
  OpDefinition definition =
      UnaryOp({.parameters = {"x", "truncates"}, .value = Select(truncates, ToInt32(x), x), .flops = 1},
              "each element as another type; f32 to i32 cuts the fraction off", Truncates);
  definition.signature.push_back(RequiredAttribute(attribute::kDType));
  definition.infer = InferCast;
  definition.rule = CastRule;
  definition.gradient = CastGradients;
  definition.treatment = Treatment::kFloat;
  return definition;
}

}  // namespace cleave::ir
