#include "ir/ops/elementwise.h"

#include "absl/strings/str_cat.h"

namespace cleave {
namespace {

InferResult InferUnary(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  return inputs[0];
}

InferResult InferBinary(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, DType::kF32, "y")) return *error;
  const std::optional<Shape> shape = BroadcastShape(inputs[0].shape, inputs[1].shape);
  if (shape.has_value()) return TensorType{DType::kF32, *shape};
  return OpError{.code = Code::kE0402,
                 .message = absl::StrCat("shapes ", ShapeText(inputs[0].shape), " and ", ShapeText(inputs[1].shape),
                                         " do not broadcast"),
                 .about = {{1, absl::StrCat("is ", ShapeText(inputs[1].shape))},
                           {0, absl::StrCat("is ", ShapeText(inputs[0].shape))}},
                 .notes = {"counted from the last dimension, sizes must be equal or one of them 1"}};
}

InferResult InferUnaryGradient(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "dy")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "value")) return *error;
  return inputs[0];
}

}  // namespace

OpDefinition UnaryOp(std::string name, std::string summary) {
  return OpDefinition{.name = std::move(name),
                      .op_class = OpClass::kElementwise,
                      .signature = {{.name = "x"}},
                      .summary = std::move(summary),
                      .infer = InferUnary,
                      .rule = NowhereLinearRule,
                      .flops = FlopsPerElement<1>};
}

OpDefinition BinaryOp(std::string name, std::string summary) {
  return OpDefinition{.name = std::move(name),
                      .op_class = OpClass::kElementwise,
                      .signature = {{.name = "x"}, {.name = "y"}},
                      .summary = std::move(summary),
                      .infer = InferBinary,
                      .rule = NowhereLinearRule,
                      .flops = FlopsPerElement<1>};
}

OpDefinition UnaryGradientOp(std::string name, std::string value, std::string summary) {
  return OpDefinition{.name = std::move(name),
                      .op_class = OpClass::kElementwise,
                      .callable = false,
                      .signature = {{.name = "dy"}, {.name = std::move(value)}},
                      .summary = std::move(summary),
                      .infer = InferUnaryGradient,
                      .rule = FirstLinearRule,
                      .flops = FlopsPerElement<2>};
}

Rule NowhereLinearRule(Types inputs, const TensorType& output, const Attributes&) {
  return BroadcastRule(inputs, output, {});
}
Rule FirstLinearRule(Types inputs, const TensorType& output, const Attributes&) {
  return BroadcastRule(inputs, output, {{0}});
}
Rule JointlyLinearRule(Types inputs, const TensorType& output, const Attributes&) {
  return BroadcastRule(inputs, output, {{0, 1}});
}
Rule EachLinearRule(Types inputs, const TensorType& output, const Attributes&) {
  return BroadcastRule(inputs, output, {{0}, {1}});
}

}  // namespace cleave
