// Types and expressions as they are written, for signatures in messages.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "dsl/syntax/print.h"
#include "frontend/arguments/arguments.h"

namespace cleave::frontend {
namespace {

std::string ArgumentText(const dsl::syntax::Argument& argument) {
  std::string value = ExpressionText(*argument.value);
  return argument.name ? absl::StrCat(argument.name->text, " = ", value) : value;
}

std::string ArgumentsText(const std::vector<dsl::syntax::Argument>& arguments) {
  return absl::StrJoin(arguments, ", ", [](std::string* out, const dsl::syntax::Argument& argument) {
    absl::StrAppend(out, ArgumentText(argument));
  });
}

bool IsBinary(const dsl::syntax::Expression& expression) {
  return std::holds_alternative<dsl::syntax::Binary>(expression.kind);
}

// An operand, in parentheses if it is an operation: they are always correct, but not always needed.
std::string OperandText(const dsl::syntax::Expression& operand) {
  return IsBinary(operand) ? absl::StrCat("(", ExpressionText(operand), ")") : ExpressionText(operand);
}

// What `.` or `with` stands behind.
std::string BaseText(const dsl::syntax::Expression& base) {
  const bool is_prefixed =
      std::holds_alternative<dsl::syntax::Negate>(base.kind) || std::holds_alternative<dsl::syntax::Not>(base.kind);
  return is_prefixed ? absl::StrCat("(", ExpressionText(base), ")") : OperandText(base);
}

}  // namespace

std::string ExpressionText(const dsl::syntax::Expression& expression) {
  return Match(
      expression.kind, [](const dsl::syntax::IntegerLiteral& literal) { return literal.text; },
      [](const dsl::syntax::FloatLiteral& literal) { return literal.text; },
      [](const dsl::syntax::SizeLiteral& literal) { return literal.text; },
      [](const dsl::syntax::TimeLiteral& literal) { return literal.text; },
      [](const dsl::syntax::StringLiteral& literal) { return dsl::syntax::QuoteString(literal.value); },
      [](const dsl::syntax::BoolLiteral& literal) -> std::string { return literal.value ? "true" : "false"; },
      [](const dsl::syntax::Name& name) { return name.text; },
      [](const dsl::syntax::Wildcard&) -> std::string { return "_"; },
      [](const dsl::syntax::Negate& negate) { return absl::StrCat("-", OperandText(*negate.operand)); },
      [](const dsl::syntax::Not& negation) { return absl::StrCat("!", OperandText(*negation.operand)); },
      [](const dsl::syntax::Binary& binary) {
        return absl::StrCat(OperandText(*binary.left), " ", dsl::syntax::OperatorText(binary.op), " ",
                            OperandText(*binary.right));
      },
      [](const dsl::syntax::Call& call) {
        return absl::StrCat(ExpressionText(*call.callee), "(", ArgumentsText(call.arguments), ")");
      },
      [](const dsl::syntax::Layer& layer) { return absl::StrCat("layer ", ExpressionText(*layer.call)); },
      [](const dsl::syntax::Index& index) { return absl::StrCat(ExpressionText(*index.base), "[…]"); },
      [](const dsl::syntax::Tuple& tuple) { return absl::StrCat("(", ArgumentsText(tuple.elements), ")"); },
      [](const dsl::syntax::Field& field) { return absl::StrCat(BaseText(*field.base), ".", field.name.text); },
      [](const dsl::syntax::With& with) {
        return absl::StrCat(BaseText(*with.base), " with (", ArgumentsText(with.fields), ")");
      },
      [](const dsl::syntax::Map&) -> std::string { return "{…}"; },
      [](const dsl::syntax::Attributed& attributed) { return ExpressionText(*attributed.operand); });
}

std::string TypeText(const dsl::syntax::Type& type) {
  if (!type.dimensions) return type.element.text;
  return absl::StrCat(type.element.text, "[",
                      absl::StrJoin(*type.dimensions, ", ",
                                    [](std::string* out, const dsl::syntax::Dimension& dimension) {
                                      absl::StrAppend(out, dimension.is_rest()
                                                               ? absl::StrCat("..", std::get<0>(dimension.kind).text)
                                                               : ExpressionText(std::get<1>(dimension.kind)));
                                    }),
                      "]");
}

std::string TypesText(const std::vector<dsl::syntax::Type>& types) {
  if (types.size() == 1) return TypeText(types[0]);
  return absl::StrCat(
      "(", absl::StrJoin(types, ", ", [](std::string* out, const dsl::syntax::Type& type) { *out += TypeText(type); }),
      ")");
}

}  // namespace cleave::frontend
