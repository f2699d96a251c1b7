// Types and expressions as they are written, for signatures in messages.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "dsl/syntax/print.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

std::string ArgumentText(const syntax::Argument& argument) {
  std::string value = ExpressionText(*argument.value);
  return argument.name ? absl::StrCat(argument.name->text, " = ", value) : value;
}

std::string ArgumentsText(const std::vector<syntax::Argument>& arguments) {
  return absl::StrJoin(arguments, ", ", [](std::string* out, const syntax::Argument& argument) {
    absl::StrAppend(out, ArgumentText(argument));
  });
}

bool IsBinary(const syntax::Expression& expression) { return std::holds_alternative<syntax::Binary>(expression.kind); }

// An operand in parentheses where it is an operation itself: always right, if not always needed.
std::string OperandText(const syntax::Expression& operand) {
  return IsBinary(operand) ? absl::StrCat("(", ExpressionText(operand), ")") : ExpressionText(operand);
}

}  // namespace

std::string ExpressionText(const syntax::Expression& expression) {
  return Match(
      expression.kind, [](const syntax::IntegerLiteral& literal) { return literal.text; },
      [](const syntax::FloatLiteral& literal) { return literal.text; },
      [](const syntax::SizeLiteral& literal) { return literal.text; },
      [](const syntax::StringLiteral& literal) { return syntax::QuoteString(literal.value); },
      [](const syntax::BoolLiteral& literal) -> std::string { return literal.value ? "true" : "false"; },
      [](const syntax::Name& name) { return name.text; }, [](const syntax::Wildcard&) -> std::string { return "_"; },
      [](const syntax::Negate& negate) { return absl::StrCat("-", OperandText(*negate.operand)); },
      [](const syntax::Binary& binary) {
        return absl::StrCat(OperandText(*binary.left), " ", syntax::OperatorText(binary.op), " ",
                            OperandText(*binary.right));
      },
      [](const syntax::Call& call) {
        return absl::StrCat(ExpressionText(*call.callee), "(", ArgumentsText(call.arguments), ")");
      },
      [](const syntax::Index& index) { return absl::StrCat(ExpressionText(*index.base), "[…]"); },
      [](const syntax::Tuple& tuple) { return absl::StrCat("(", ArgumentsText(tuple.elements), ")"); },
      [](const syntax::Map&) -> std::string { return "{…}"; },
      [](const syntax::Attributed& attributed) { return ExpressionText(*attributed.operand); });
}

std::string TypeText(const syntax::Type& type) {
  if (!type.dimensions) return type.element.text;
  return absl::StrCat(type.element.text, "[",
                      absl::StrJoin(*type.dimensions, ", ",
                                    [](std::string* out, const syntax::Dimension& dimension) {
                                      absl::StrAppend(out, dimension.is_rest()
                                                               ? absl::StrCat("..", std::get<0>(dimension.kind).text)
                                                               : ExpressionText(std::get<1>(dimension.kind)));
                                    }),
                      "]");
}

}  // namespace cleave::frontend
