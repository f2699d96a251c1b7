#include "codegen/source/element_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "codegen/emit/identifiers.h"
#include "ir/graph/ops/ops.h"

namespace cleave::codegen {
namespace {

ElementText NumberText(double number) {
  const std::string text = FloatLiteral(number);
  return {text, text[0] == '-' ? Binding::kUnary : Binding::kPrimary};
}

ElementText CallText(absl::string_view function, absl::Span<const ElementText> arguments) {
  return {absl::StrCat(
      function, "(",
      absl::StrJoin(arguments, ", ",
                    [](std::string* out, const ElementText& argument) { absl::StrAppend(out, argument.text); }),
      ")")};
}

// In a chain of one operator only the left operand needs no parentheses: floating-point sums have an order.
ElementText Infix(absl::Span<const ElementText> operands, absl::string_view symbol, Binding binding) {
  const Binding tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  return {absl::StrCat(Bound(operands[0], binding), " ", symbol, " ", Bound(operands[1], tighter)), binding};
}

ElementText Comparison(absl::Span<const ElementText> operands, absl::string_view symbol) {
  const std::string condition =
      absl::StrCat(Bound(operands[0], Binding::kSum), " ", symbol, " ", Bound(operands[1], Binding::kSum));
  return {absl::StrCat(condition, " ? 1.0f : 0.0f"), Binding::kConditional, condition};
}

// A last alternative that is a choice itself needs no parentheses.
ElementText ChoiceText(absl::Span<const ElementText> operands) {
  const ElementText& chosen = operands[0];
  const std::string condition =
      chosen.condition.empty() ? absl::StrCat(Bound(chosen, Binding::kSum), " != 0.0f") : chosen.condition;
  return {absl::StrCat(condition, " ? ", Bound(operands[1], Binding::kSum), " : ", operands[2].text),
          Binding::kConditional};
}

ElementText Negation(const ElementText& x) {
  // Two minus signs in a row would be a decrement.
  const std::string operand = Bound(x, Binding::kPrimary);
  return {absl::StrCat("-", operand[0] == '-' ? absl::StrCat("(", operand, ")") : operand), Binding::kUnary};
}

// Repeated products are fast and exact for small whole exponents only.
ElementText PowerText(absl::Span<const ElementText> operands, const ir::Scalar& exponent) {
  constexpr double kMostFactors = 16;
  if (!exponent.Is(ir::Primitive::kNumber)) return CallText("std::pow", operands);
  const double number = exponent.number();
  if (number == 1) return operands[0];
  if (number == 0.5) return CallText("std::sqrt", operands.first(1));
  if (std::abs(number) <= kMostFactors && number == std::trunc(number)) {
    return CallText(absl::StrCat("Power<", static_cast<int>(number), ">"), operands.first(1));
  }
  return CallText("std::pow", operands);
}

// The text of a node, given the texts of its operands.
ElementText NodeText(const ir::Scalar& node, absl::Span<const ElementText> operands, ElementFunctions& functions) {
  switch (node.primitive()) {
    case ir::Primitive::kVariable:
      CLEAVE_CHECK(false) << "`" << node.variable() << "` has no text";
      break;
    case ir::Primitive::kNumber:
      return NumberText(node.number());
    case ir::Primitive::kAdd:
      return Infix(operands, "+", Binding::kSum);
    case ir::Primitive::kSubtract:
      return Infix(operands, "-", Binding::kSum);
    case ir::Primitive::kMultiply:
      return Infix(operands, "*", Binding::kProduct);
    case ir::Primitive::kDivide:
      return Infix(operands, "/", Binding::kProduct);
    case ir::Primitive::kNegate:
      return Negation(operands[0]);
    case ir::Primitive::kEqual:
      return Comparison(operands, "==");
    case ir::Primitive::kNotEqual:
      return Comparison(operands, "!=");
    case ir::Primitive::kLess:
      return Comparison(operands, "<");
    case ir::Primitive::kLessEqual:
      return Comparison(operands, "<=");
    case ir::Primitive::kGreater:
      return Comparison(operands, ">");
    case ir::Primitive::kGreaterEqual:
      return Comparison(operands, ">=");
    case ir::Primitive::kSelect:
      return ChoiceText(operands);
    case ir::Primitive::kMaximum:
      return CallText("Maximum", operands);
    case ir::Primitive::kMinimum:
      return CallText("Minimum", operands);
    case ir::Primitive::kAbs:
      return CallText("std::abs", operands);
    case ir::Primitive::kQuotient:
      return CallText("Quotient", operands);
    case ir::Primitive::kRemainder:
      return CallText("Remainder", operands);
    case ir::Primitive::kToInt32:
      return CallText("ToInt32", operands);
    case ir::Primitive::kExp:
      return CallText("Exp", operands);
    case ir::Primitive::kLog:
      return CallText("std::log", operands);
    case ir::Primitive::kLogOnePlus:
      return CallText("LogOnePlus", operands);
    case ir::Primitive::kSqrt:
      return CallText("std::sqrt", operands);
    case ir::Primitive::kSin:
      return CallText("std::sin", operands);
    case ir::Primitive::kCos:
      return CallText("std::cos", operands);
    case ir::Primitive::kTanh:
      return CallText("std::tanh", operands);
    case ir::Primitive::kErf:
      return CallText("Erf", operands);
    case ir::Primitive::kPow:
      return PowerText(operands, node.operands()[1]);
    case ir::Primitive::kCall:
      return CallText(functions.NameOf(node.function()), operands);
  }
  CLEAVE_CHECK(false) << "no such primitive";
}

// The statements of a function's body: constants for values that are used more than once or make a line too long, then
// the return statement.
class BodyText {
 public:
  BodyText(const ir::ScalarFunction& function, ElementFunctions& functions)
      : function_(function), functions_(functions) {
    for (const std::string& parameter : function.parameters) identifiers_.Reserve(parameter);
  }

  std::vector<std::string> Run() && {
    const std::vector<ir::Scalar> nodes = ir::NodesOf(function_.value);
    for (const ir::Scalar& node : nodes) {
      for (const ir::Scalar& operand : node.operands()) ++uses_[operand.key()];
    }
    for (const ir::Scalar& node : nodes) {
      if (node.Is(ir::Primitive::kVariable)) {
        texts_[node.key()] = {node.variable()};
        continue;
      }
      ElementText text = TextOf(node);
      if (!node.IsLeaf() && uses_[node.key()] > 1) text = Named(node, text);
      texts_[node.key()] = text;
    }
    statements_.push_back(absl::StrCat("return ", texts_.at(function_.value.key()).text, ";"));
    return std::move(statements_);
  }

 private:
  static constexpr size_t kLongest = 96;

  ElementText TextOf(const ir::Scalar& node) {
    std::vector<ElementText> operands;
    for (const ir::Scalar& operand : node.operands()) operands.push_back(texts_.at(operand.key()));
    ElementText text = NodeText(node, operands, functions_);
    while (text.text.size() > kLongest) {
      size_t longest = 0;
      for (size_t i = 1; i < operands.size(); ++i) {
        if (operands[i].text.size() > operands[longest].text.size()) longest = i;
      }
      operands[longest] = Named(node.operands()[longest], operands[longest]);
      text = NodeText(node, operands, functions_);
    }
    return text;
  }

  // A call gives its constant the function's name.
  ElementText Named(const ir::Scalar& node, const ElementText& text) {
    const std::string name = identifiers_.Unique(node.Is(ir::Primitive::kCall) ? node.function().name : "term");
    statements_.push_back(absl::StrCat("const float ", name, " = ", text.text, ";"));
    return {name};
  }

  const ir::ScalarFunction& function_;
  ElementFunctions& functions_;
  Identifiers identifiers_;
  std::map<ir::Scalar::Key, int> uses_;
  std::map<ir::Scalar::Key, ElementText> texts_;
  std::vector<std::string> statements_;
};

// Whether the value is one operation on variables and numbers, each of which occurs once.
bool IsOneOperation(const ir::Scalar& value) {
  std::set<std::string> read;
  return std::all_of(value.operands().begin(), value.operands().end(), [&](const ir::Scalar& operand) {
    return operand.IsLeaf() && (!operand.Is(ir::Primitive::kVariable) || read.insert(operand.variable()).second);
  });
}

}  // namespace

std::string Bound(const ElementText& element, Binding binding) {
  return element.binding < binding ? absl::StrCat("(", element.text, ")") : element.text;
}

std::string ElementFunctions::NameOf(const ir::ScalarFunction& function) {
  const std::string name = TypeName(function.name);
  if (!written_.insert(name).second) return name;
  const std::vector<std::string> statements = BodyText(function, *this).Run();
  const std::string head = absl::StrCat(
      "CLEAVE_PORTABLE inline float ", name, "(",
      absl::StrJoin(function.parameters, ", ",
                    [](std::string* out, const std::string& parameter) { absl::StrAppend(out, "float ", parameter); }),
      ") {");
  if (const std::string line = absl::StrCat(head, " ", statements[0], " }");
      statements.size() == 1 && line.size() <= SourceWriter::kColumns) {
    writer_.Line(line);
    return name;
  }
  writer_.Open(head);
  for (const std::string& statement : statements) writer_.Line(statement);
  writer_.Close("}");
  return name;
}

bool HasElementText(ir::OpKind kind) { return ir::DefinitionOf(kind).element.has_value(); }

ElementText ElementValue(const ir::Program& program, const ir::Compute& compute,
                         absl::Span<const ElementText> arguments, ElementFunctions& functions) {
  const ir::OpDefinition& definition = ir::DefinitionOf(compute.kind);
  CLEAVE_CHECK(definition.element.has_value()) << "`" << compute.kind << "` is not computed element by element";
  const ir::ScalarFunction& function = definition.element->function;
  const ir::TensorType& type = program.value(compute.output).type;
  const std::vector<double> numbers = definition.element->NumbersOf(compute.attributes, type.elements());
  std::map<std::string, ir::Scalar> known;
  std::map<std::string, ElementText> texts;
  std::vector<ElementText> all(arguments.begin(), arguments.end());
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const std::string& parameter = function.parameters[i];
    if (i < arguments.size()) {
      texts.emplace(parameter, arguments[i]);
    } else {
      known.emplace(parameter, numbers[i - arguments.size()]);
      all.push_back(NumberText(numbers[i - arguments.size()]));
    }
  }
  const ir::Scalar value = ir::Substitute(function.value, known);
  if (!IsOneOperation(value)) return CallText(functions.NameOf(function), all);
  const auto text_of = [&](const ir::Scalar& leaf) {
    return leaf.Is(ir::Primitive::kVariable) ? texts.at(leaf.variable()) : NumberText(leaf.number());
  };
  if (!value.IsLeaf()) {
    std::vector<ElementText> operands;
    for (const ir::Scalar& operand : value.operands()) operands.push_back(text_of(operand));
    return NodeText(value, operands, functions);
  }
  // C++ converts integers to real numbers by itself only in arithmetic.
  const bool becomes_real =
      type.dtype != ir::DType::kI32 && program.value(compute.inputs[0]).type.dtype == ir::DType::kI32;
  return becomes_real ? CallText("static_cast<float>", arguments) : text_of(value);
}

}  // namespace cleave::codegen
