#include "ir/graph/ops/elementwise.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
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

int64_t GlobalElements(const Evaluation& evaluation) {
  int64_t elements = 1;
  for (const FactorRange& range : evaluation.ranges) elements *= range.global;
  return elements;
}

void EvaluateElements(const ElementFunction& element, const Evaluation& evaluation) {
  Calculation calculation(element.function.value, element.function.parameters);
  std::vector<std::vector<int64_t>> indices;
  for (const Tensor* input : evaluation.inputs) {
    indices.push_back(BroadcastIndex(evaluation.output.shape, input->shape));
  }
  std::vector<double> arguments(evaluation.inputs.size());
  for (const double number : element.NumbersOf(evaluation.attributes, GlobalElements(evaluation))) {
    arguments.push_back(number);
  }
  for (size_t i = 0; i < evaluation.output.values.size(); ++i) {
    for (size_t input = 0; input < indices.size(); ++input) {
      arguments[input] = evaluation.inputs[input]->values[static_cast<size_t>(indices[input][i])];
    }
    evaluation.output.values[i] = calculation(arguments);
  }
}

// Every set of inputs in which the function is linear, small ones first.
LinearGroups LinearGroupsOf(const ScalarFunction& function, size_t inputs) {
  LinearGroups groups;
  for (size_t size = 1; size <= inputs; ++size) {
    for (unsigned set = 1; set < 1u << inputs; ++set) {
      std::vector<int> members;
      std::set<std::string> names;
      for (size_t i = 0; i < inputs; ++i) {
        if ((set >> i & 1u) == 0) continue;
        members.push_back(static_cast<int>(i));
        names.insert(function.parameters[i]);
      }
      if (members.size() == size && IsLinear(function.value, names)) groups.push_back(members);
    }
  }
  return groups;
}

InferResult InferArithmetic(Types inputs, const Attributes&) {
  if (auto error = CheckOneDType(inputs, 0, "x", 1, "y")) return *error;
  return InferBroadcast(inputs, ElementwiseDType(inputs));
}

Gradients ArithmeticGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  return op.type.dtype == DType::kI32 ? ZeroGradients(builder, op, dy) : ElementGradients(builder, op, dy);
}

}  // namespace

std::vector<double> ElementFunction::NumbersOf(const Attributes& attributes, int64_t elements) const {
  if (numbers != nullptr) return numbers(attributes, elements);
  std::vector<double> values;
  for (size_t i = inputs; i < function.parameters.size(); ++i) {
    values.push_back(attributes.Get(Attribute<double>{function.parameters[i].c_str()}));
  }
  return values;
}

Scalar Call(OpKind kind, ScalarFunction function, std::vector<Scalar> arguments) {
  function.name = std::string(OpKindName(kind));
  return Call(std::move(function), std::move(arguments));
}

OpDefinition ElementwiseOp(ScalarFunction function, std::vector<Argument> signature, std::string summary,
                           ElementFunction::Numbers numbers) {
  const ElementFunction element{.function = std::move(function), .inputs = signature.size(), .numbers = numbers};
  return OpDefinition{.op_class = OpClass::kElementwise,
                      .signature = std::move(signature),
                      .summary = std::move(summary),
                      .element = element,
                      .rule = [groups = LinearGroupsOf(element.function, element.inputs)](
                                  Types inputs, const TensorType& output,
                                  const Attributes&) { return BroadcastRule(inputs, output, groups); },
                      .gradient = ElementGradients,
                      .flops = [flops = FlopsOf(element.function)](
                                   Types, const TensorType& output,
                                   const Attributes&) { return Flops(flops * static_cast<double>(output.elements())); },
                      .evaluate = [element](const Evaluation& evaluation) { EvaluateElements(element, evaluation); }};
}

OpDefinition UnaryOp(ScalarFunction function, std::string summary, ElementFunction::Numbers numbers) {
  OpDefinition definition = ElementwiseOp(std::move(function), {{.name = "x"}}, std::move(summary), numbers);
  definition.treatment = Treatment::kFollow;
  definition.infer = InferUnary;
  definition.batch = BatchSame;
  return definition;
}

OpDefinition BinaryOp(const Scalar& value, std::string summary) {
  OpDefinition definition =
      ElementwiseOp({.parameters = {"x", "y"}, .value = value},
                    {{.name = "x", .takes_number = true}, {.name = "y", .takes_number = true}}, std::move(summary));
  definition.treatment = Treatment::kFollow;
  definition.infer = InferBinary;
  definition.batch = BatchBroadcasting;
  return definition;
}

OpDefinition ArithmeticOp(const Scalar& value, std::string summary) {
  OpDefinition definition = BinaryOp(value, std::move(summary));
  definition.infer = InferArithmetic;
  definition.gradient = ArithmeticGradients;
  return definition;
}

OpDefinition ComparisonOp(const Scalar& value, std::string summary) {
  OpDefinition definition = BinaryOp(value, std::move(summary));
  definition.infer = InferComparison;
  definition.gradient = ZeroGradients;
  return definition;
}

OpDefinition UnaryGradientOp(ScalarFunction function, std::string summary) {
  std::string value = function.parameters[1];
  OpDefinition definition =
      ElementwiseOp(std::move(function), {{.name = "dy"}, {.name = std::move(value)}}, std::move(summary));
  definition.callable = false;
  definition.treatment = Treatment::kFollow;
  definition.infer = InferUnaryGradient;
  definition.gradient = nullptr;
  return definition;
}

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

OpDefinition ComputedInF32(OpDefinition definition) {
  definition.treatment = Treatment::kFloat;
  return definition;
}

void CopyElements(const Evaluation& evaluation) { evaluation.output.values = evaluation.inputs[0]->values; }

std::optional<OpError> CheckOneDType(Types inputs, int a, const std::string& name_a, int b, const std::string& name_b) {
  if (inputs[static_cast<size_t>(a)].dtype == inputs[static_cast<size_t>(b)].dtype) return std::nullopt;
  return CheckOneFloat(inputs, a, name_a, b, name_b);
}

// Inputs that fit each other in pairs also fit all together.
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

}  // namespace cleave::ir
