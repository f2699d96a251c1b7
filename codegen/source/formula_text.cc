#include "codegen/source/formula_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "base/text/text.h"
#include "codegen/source/element_text.h"

namespace cleave::codegen {
namespace {

constexpr size_t kLongestFormula = 96;

ElementText FormulaNumber(double number) {
  const std::string text = FormatDouble(number);
  return {text, text[0] == '-' ? Binding::kUnary : Binding::kPrimary};
}

ElementText FormulaCall(absl::string_view function, const std::vector<ElementText>& operands) {
  const auto text = [](std::string* out, const ElementText& operand) { absl::StrAppend(out, operand.text); };
  return {absl::StrCat(function, "(", absl::StrJoin(operands, ", ", text), ")")};
}

// In a chain of one operator only the left operand needs no parentheses: floating-point sums have an order.
ElementText FormulaInfix(absl::string_view symbol, Binding binding, const std::vector<ElementText>& operands) {
  const Binding tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  return {absl::StrCat(Bound(operands[0], binding), " ", symbol, " ", Bound(operands[1], tighter)), binding};
}

ElementText FormulaCondition(absl::string_view symbol, const std::vector<ElementText>& operands) {
  const std::string condition =
      absl::StrCat(Bound(operands[0], Binding::kSum), " ", symbol, " ", Bound(operands[1], Binding::kSum));
  return {absl::StrCat(condition, " ? 1.0 : 0.0"), Binding::kConditional, condition};
}

ElementText FormulaChoice(const std::vector<ElementText>& operands) {
  const std::string condition = operands[0].condition.empty()
                                    ? absl::StrCat(Bound(operands[0], Binding::kSum), " != 0.0")
                                    : operands[0].condition;
  return {absl::StrCat(condition, " ? ", Bound(operands[1], Binding::kSum), " : ", operands[2].text),
          Binding::kConditional};
}

ElementText FormulaNegation(const ElementText& operand) {
  const std::string text = Bound(operand, Binding::kPrimary);
  return {absl::StrCat("-", text[0] == '-' ? absl::StrCat("(", text, ")") : text), Binding::kUnary};
}

ElementText FormulaLeaf(const ir::Scalar& node, const FormulaNames& names) {
  if (node.Is(ir::Primitive::kVariable)) return {names.step};
  const auto named = names.numbers.find(node.name());
  return named == names.numbers.end() ? FormulaNumber(node.number()) : ElementText{named->second};
}

ElementText FormulaNode(const ir::Scalar& node, const FormulaNames& names, const std::vector<ElementText>& operands) {
  switch (node.primitive()) {
    case ir::Primitive::kVariable:
    case ir::Primitive::kNumber:
      return FormulaLeaf(node, names);
    case ir::Primitive::kAdd:
      return FormulaInfix("+", Binding::kSum, operands);
    case ir::Primitive::kSubtract:
      return FormulaInfix("-", Binding::kSum, operands);
    case ir::Primitive::kMultiply:
      return FormulaInfix("*", Binding::kProduct, operands);
    case ir::Primitive::kDivide:
      return FormulaInfix("/", Binding::kProduct, operands);
    case ir::Primitive::kNegate:
      return FormulaNegation(operands[0]);
    case ir::Primitive::kEqual:
      return FormulaCondition("==", operands);
    case ir::Primitive::kNotEqual:
      return FormulaCondition("!=", operands);
    case ir::Primitive::kLess:
      return FormulaCondition("<", operands);
    case ir::Primitive::kLessEqual:
      return FormulaCondition("<=", operands);
    case ir::Primitive::kGreater:
      return FormulaCondition(">", operands);
    case ir::Primitive::kGreaterEqual:
      return FormulaCondition(">=", operands);
    case ir::Primitive::kSelect:
      return FormulaChoice(operands);
    case ir::Primitive::kMaximum:
      return FormulaCall("std::max", operands);
    case ir::Primitive::kMinimum:
      return FormulaCall("std::min", operands);
    case ir::Primitive::kAbs:
      return FormulaCall("std::abs", operands);
    case ir::Primitive::kToInt32:
      return FormulaCall("std::trunc", operands);
    case ir::Primitive::kExp:
      return FormulaCall("std::exp", operands);
    case ir::Primitive::kLog:
      return FormulaCall("std::log", operands);
    case ir::Primitive::kSqrt:
      return FormulaCall("std::sqrt", operands);
    case ir::Primitive::kSin:
      return FormulaCall("std::sin", operands);
    case ir::Primitive::kCos:
      return FormulaCall("std::cos", operands);
    case ir::Primitive::kTanh:
      return FormulaCall("std::tanh", operands);
    case ir::Primitive::kErf:
      return FormulaCall("std::erf", operands);
    case ir::Primitive::kPow:
      return FormulaCall("std::pow", operands);
    case ir::Primitive::kQuotient:
    case ir::Primitive::kRemainder:
    case ir::Primitive::kLogOnePlus:
    case ir::Primitive::kCall:
      break;
  }
  CLEAVE_CHECK(false) << "no formula of the step has this primitive";
}

class FormulaWriter {
 public:
  FormulaWriter(const FormulaNames& names, size_t longest) : names_(names), longest_(longest) {}

  ElementText TextOf(const ir::Scalar& node) {
    std::vector<ElementText> operands;
    for (const ir::Scalar& operand : node.operands()) operands.push_back(TextOf(operand));
    ElementText text = FormulaNode(node, names_, operands);
    while (text.text.size() > longest_) {
      size_t longest = 0;
      for (size_t i = 1; i < operands.size(); ++i) {
        if (operands[i].text.size() > operands[longest].text.size()) longest = i;
      }
      if (operands[longest].text.size() <= names_.step.size()) break;
      operands[longest] = Named(operands[longest]);
      text = FormulaNode(node, names_, operands);
    }
    return text;
  }

  std::vector<std::string> statements;

 private:
  ElementText Named(const ElementText& value) {
    const std::string name = absl::StrCat("term", statements.size() + 1);
    statements.push_back(absl::StrCat("const double ", name, " = ", value.text, ";"));
    return {name};
  }

  const FormulaNames& names_;
  const size_t longest_;
};

}  // namespace

std::string FormulaText(const ir::Scalar& formula, const FormulaNames& names) {
  return FormulaWriter(names, std::string::npos).TextOf(formula).text;
}

std::string ConditionText(const ir::Scalar& formula, const FormulaNames& names) {
  const ElementText text = FormulaWriter(names, std::string::npos).TextOf(formula);
  return text.condition.empty() ? absl::StrCat(Bound(text, Binding::kSum), " != 0.0") : text.condition;
}

std::vector<std::string> FormulaStatements(const ir::Scalar& formula, const FormulaNames& names) {
  FormulaWriter writer(names, kLongestFormula);
  const ElementText value = writer.TextOf(formula);
  writer.statements.push_back(absl::StrCat("return ", value.text, ";"));
  return std::move(writer.statements);
}

}  // namespace cleave::codegen
