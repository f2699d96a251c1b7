#include "ir/ops/elementwise.h"

#include "absl/strings/str_cat.h"
#include "ir/ops/lift.h"

namespace cleave {
namespace {

InferResult InferUnary(Types inputs, const Attributes&) {
  if (auto error = CheckFloat(inputs, 0, "x")) return *error;
  return inputs[0];
}

InferResult InferBinary(Types inputs, const Attributes&) {
  if (auto error = CheckOneFloat(inputs, 0, "x", 1, "y")) return *error;
  return InferBroadcast(inputs, ElementwiseDType(inputs));
}

InferResult InferComparison(Types inputs, const Attributes&) {
  if (auto error = CheckOneDType(inputs, 0, "x", 1, "y")) return *error;
  const DType dtype = ElementwiseDType(inputs);
  return InferBroadcast(inputs, dtype == DType::kI32 ? DType::kF32 : dtype);
}

InferResult InferUnaryGradient(Types inputs, const Attributes&) {
  if (auto error = CheckFloat(inputs, 0, "dy")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "value")) return *error;
  if (auto error = CheckSameShape(inputs, 0, 1, "value")) return *error;
  return inputs[0];
}

}  // namespace

OpDefinition UnaryOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x"}},
                      .summary = std::move(summary),
                      .infer = InferUnary,
                      .rule = NowhereLinearRule,
                      .flops = FlopsPerElement<1>,
                      .batch = BatchSame};
}

OpDefinition BinaryOp(std::string summary) {
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "x", .takes_number = true}, {.name = "y", .takes_number = true}},
                      .summary = std::move(summary),
                      .infer = InferBinary,
                      .rule = NowhereLinearRule,
                      .flops = FlopsPerElement<1>,
                      .batch = BatchBroadcasting};
}

OpDefinition ComparisonOp(std::string summary) {
  OpDefinition definition = BinaryOp(std::move(summary));
  definition.infer = InferComparison;
  definition.gradient = ZeroGradients;
  return definition;
}

OpDefinition UnaryGradientOp(std::string value, std::string summary) {
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .callable = false,
                      .treatment = Treatment::kFollow,
                      .signature = {{.name = "dy"}, {.name = std::move(value)}},
                      .summary = std::move(summary),
                      .infer = InferUnaryGradient,
                      .rule = FirstLinearRule,
                      .flops = FlopsPerElement<2>};
}

std::optional<OpError> CheckOneDType(Types inputs, int a, const std::string& name_a, int b, const std::string& name_b) {
  if (inputs[static_cast<size_t>(a)].dtype == inputs[static_cast<size_t>(b)].dtype) return std::nullopt;
  return CheckOneFloat(inputs, a, name_a, b, name_b);
}

// Inputs that fit each other two by two fit all together.
InferResult InferBroadcast(Types inputs, DType dtype) {
  Shape shape = inputs[0].shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Shape& first = inputs[j].shape;
      const Shape& second = inputs[i].shape;
      if (BroadcastShape(first, second).has_value()) continue;
      return OpError{
          .code = Code::kE0402,
          .message = absl::StrCat("shapes ", ShapeText(first), " and ", ShapeText(second), " do not broadcast"),
          .about = {{static_cast<int>(i), absl::StrCat("is ", ShapeText(second))},
                    {static_cast<int>(j), absl::StrCat("is ", ShapeText(first))}},
          .notes = {"counted from the last dimension, sizes must be equal or one of them 1"}};
    }
    shape = *BroadcastShape(shape, inputs[i].shape);
  }
  return TensorType{dtype, shape};
}

Gradients ZeroGradients(GraphBuilder&, const Op& op, OpId) { return Gradients(op.inputs.size()); }

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
