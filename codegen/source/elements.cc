#include "codegen/source/elements.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/check/check.h"
#include "codegen/source/scalar_expr.h"
#include "ir/graph/ops/ops.h"

namespace cleave::codegen {
namespace {

absl::string_view FunctionOf(ir::Primitive primitive) {
  switch (primitive) {
    case ir::Primitive::kMaximum:
      return "Maximum";
    case ir::Primitive::kMinimum:
      return "Minimum";
    case ir::Primitive::kQuotient:
      return "Quotient";
    case ir::Primitive::kRemainder:
      return "Remainder";
    case ir::Primitive::kPowerOfTwo:
      return "PowerOfTwoFrom";
    case ir::Primitive::kToInt32:
      return "ToInt32";
    case ir::Primitive::kExp:
      return "Exp";
    case ir::Primitive::kLogOnePlus:
      return "LogOnePlus";
    case ir::Primitive::kErf:
      return "Erf";
    default:
      return "";
  }
}

constexpr Arithmetic kFloats = {.literal = cpp::Float, .function = FunctionOf};

// Repeated products are fast and exact for small whole exponents only.
cpp::Expr PowerExpr(const ir::Scalar& node, absl::Span<const cpp::Expr> operands) {
  constexpr double kMostFactors = 16;
  const ir::Scalar& exponent = node.operands()[1];
  if (!exponent.Is(ir::Primitive::kNumber)) return ScalarExpr(node, operands, kFloats);
  const double number = exponent.number();
  if (number == 1) return operands[0];
  if (number == 0.5) return cpp::Call("std::sqrt", {operands[0]});
  if (std::abs(number) <= kMostFactors && number == std::trunc(number)) {
    return cpp::Call(cpp::Template("Power", {static_cast<int>(number)}), {operands[0]});
  }
  return ScalarExpr(node, operands, kFloats);
}

// The value of a node, given those of its operands.
cpp::Expr NodeExpr(const ir::Scalar& node, absl::Span<const cpp::Expr> operands, ElementFunctions& functions) {
  switch (node.primitive()) {
    case ir::Primitive::kNumber:
      return cpp::Float(node.number());
    case ir::Primitive::kPow:
      return PowerExpr(node, operands);
    case ir::Primitive::kCall:
      return cpp::Call(functions.NameOf(node.function()), {operands.begin(), operands.end()});
    default:
      return ScalarExpr(node, operands, kFloats);
  }
}

// The statements of a function's body: constants for values that are used more than once or make a line too long, then
// the return statement.
class BodyWriter {
 public:
  BodyWriter(const ir::ScalarFunction& function, ElementFunctions& functions, cpp::Code& body)
      : function_(function), functions_(functions), body_(body) {
    for (const std::string& parameter : function.parameters) identifiers_.Reserve(parameter);
  }

  void Run() && {
    const std::vector<ir::Scalar> nodes = ir::NodesOf(function_.value);
    for (const ir::Scalar& node : nodes) {
      for (const ir::Scalar& operand : node.operands()) ++uses_[operand.key()];
    }
    for (const ir::Scalar& node : nodes) {
      if (node.Is(ir::Primitive::kVariable)) {
        values_[node.key()] = cpp::Name(node.variable());
        continue;
      }
      cpp::Expr value = ValueOf(node);
      if (!node.IsLeaf() && uses_[node.key()] > 1) value = Named(node, value);
      values_[node.key()] = value;
    }
    body_.Return(values_.at(function_.value.key()));
  }

 private:
  static constexpr size_t kLongest = 96;

  cpp::Expr ValueOf(const ir::Scalar& node) {
    std::vector<cpp::Expr> operands;
    for (const ir::Scalar& operand : node.operands()) operands.push_back(values_.at(operand.key()));
    cpp::Expr value = NodeExpr(node, operands, functions_);
    while (value.length() > kLongest) {
      const size_t longest = LongestOf(operands);
      operands[longest] = Named(node.operands()[longest], operands[longest]);
      value = NodeExpr(node, operands, functions_);
    }
    return value;
  }

  // A call gives its constant the function's name.
  cpp::Expr Named(const ir::Scalar& node, const cpp::Expr& value) {
    const std::string name = identifiers_.Unique(node.Is(ir::Primitive::kCall) ? node.function().name : "term");
    body_.Declare({cpp::Name("const float"), name}, value);
    return cpp::Name(name);
  }

  const ir::ScalarFunction& function_;
  ElementFunctions& functions_;
  Identifiers identifiers_;
  std::map<ir::Scalar::Key, int> uses_;
  std::map<ir::Scalar::Key, cpp::Expr> values_;
  cpp::Code& body_;
};

// Whether the value is one operation on variables and numbers, each of which occurs once.
bool IsOneOperation(const ir::Scalar& value) {
  std::set<std::string> read;
  return std::all_of(value.operands().begin(), value.operands().end(), [&](const ir::Scalar& operand) {
    return operand.IsLeaf() && (!operand.Is(ir::Primitive::kVariable) || read.insert(operand.variable()).second);
  });
}

}  // namespace

std::string ElementFunctions::NameOf(const ir::ScalarFunction& function) {
  const std::string name = TypeName(function.name);
  if (!written_.insert(name).second) return name;
  cpp::Function head = {.result = cpp::Name("CLEAVE_PORTABLE inline float"), .name = name};
  for (const std::string& parameter : function.parameters) head.parameters.push_back({cpp::Name("float"), parameter});
  cpp::Code body;
  BodyWriter(function, *this, body).Run();
  definitions_.Open(head).Append(std::move(body));  // Behind the functions that it calls.
  return name;
}

bool IsElementwise(ir::OpKind kind) { return ir::DefinitionOf(kind).element.has_value(); }

cpp::Expr ElementValue(const ir::Program& program, const ir::Compute& compute, absl::Span<const cpp::Expr> arguments,
                       ElementFunctions& functions) {
  const ir::OpDefinition& definition = ir::DefinitionOf(compute.kind);
  CLEAVE_CHECK(definition.element.has_value()) << "`" << compute.kind << "` is not computed element by element";
  const ir::ScalarFunction& function = definition.element->function;
  const ir::TensorType& type = program.value(compute.output).type;
  const std::vector<double> numbers = definition.element->NumbersOf(compute.attributes, type.elements());
  std::map<std::string, ir::Scalar> known;
  std::map<std::string, cpp::Expr> values;
  std::vector<cpp::Expr> all(arguments.begin(), arguments.end());
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const std::string& parameter = function.parameters[i];
    if (i < arguments.size()) {
      values.emplace(parameter, arguments[i]);
    } else {
      known.emplace(parameter, numbers[i - arguments.size()]);
      all.push_back(cpp::Float(numbers[i - arguments.size()]));
    }
  }
  const ir::Scalar value = ir::Substitute(function.value, known);
  if (!IsOneOperation(value)) return cpp::Call(functions.NameOf(function), std::move(all));
  const auto value_of = [&](const ir::Scalar& leaf) {
    return leaf.Is(ir::Primitive::kVariable) ? values.at(leaf.variable()) : cpp::Float(leaf.number());
  };
  if (!value.IsLeaf()) {
    std::vector<cpp::Expr> operands;
    for (const ir::Scalar& operand : value.operands()) operands.push_back(value_of(operand));
    return NodeExpr(value, operands, functions);
  }
  // C++ converts integers to real numbers by itself only in arithmetic.
  const bool becomes_real = !ir::IsInteger(type.dtype) && ir::IsInteger(program.value(compute.inputs[0]).type.dtype);
  return becomes_real ? cpp::Cast(cpp::Name("float"), arguments[0]) : value_of(value);
}

}  // namespace cleave::codegen
