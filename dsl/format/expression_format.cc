#include "dsl/format/expression_format.h"

#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/match/match.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

// How tightly an expression binds; a child that binds less than its place needs is put in parentheses.
enum Binding { kDisjunction = 1, kConjunction, kComparison, kSum, kProduct, kPrefix, kPower, kSuffix };

Binding BindingOf(syntax::BinaryOperator op) {
  switch (op) {
    case syntax::BinaryOperator::kAdd:
    case syntax::BinaryOperator::kSubtract:
      return kSum;
    case syntax::BinaryOperator::kMultiply:
    case syntax::BinaryOperator::kDivide:
    case syntax::BinaryOperator::kRemainder:
      return kProduct;
    case syntax::BinaryOperator::kPower:
      return kPower;
    case syntax::BinaryOperator::kEqual:
    case syntax::BinaryOperator::kNotEqual:
    case syntax::BinaryOperator::kLess:
    case syntax::BinaryOperator::kLessEqual:
    case syntax::BinaryOperator::kGreater:
    case syntax::BinaryOperator::kGreaterEqual:
      return kComparison;
    case syntax::BinaryOperator::kAnd:
      return kConjunction;
    case syntax::BinaryOperator::kOr:
      return kDisjunction;
  }
  return kComparison;
}

Binding BindingOf(const syntax::Expression& expression) {
  if (const auto* binary = std::get_if<syntax::Binary>(&expression.kind)) return BindingOf(binary->op);
  if (std::holds_alternative<syntax::Negate>(expression.kind)) return kPrefix;
  if (std::holds_alternative<syntax::Not>(expression.kind)) return kPrefix;
  if (std::holds_alternative<syntax::Attributed>(expression.kind)) return kPrefix;
  return kSuffix;
}

constexpr Place kOneLine{.one_line = true};

std::string Indent(int columns) { return std::string(static_cast<size_t>(columns), ' '); }

bool Fits(const std::string& text, const Place& place) {
  return place.one_line || place.column + static_cast<int>(text.size()) + place.reserve <= kLineWidth;
}

// A list in brackets, which may have a space on their inner side: on one line, or one element per line, each with a
// comma. `element(i, place)` makes one element.
std::string FormatList(absl::string_view open, size_t count, absl::string_view close, bool comma_after_single,
                       Place place, const std::function<std::string(size_t, Place)>& element) {
  const absl::string_view bare_open = absl::StripAsciiWhitespace(open);
  const absl::string_view bare_close = absl::StripAsciiWhitespace(close);
  if (count == 0) return absl::StrCat(bare_open, bare_close);
  std::string flat(open);
  for (size_t i = 0; i < count; ++i) absl::StrAppend(&flat, i == 0 ? "" : ", ", element(i, kOneLine));
  absl::StrAppend(&flat, count == 1 && comma_after_single ? "," : "", close);
  if (Fits(flat, place)) return flat;
  const int inner = place.indent + kIndentWidth;
  std::string broken = absl::StrCat(bare_open, "\n");
  for (size_t i = 0; i < count; ++i) {
    const Place inside{.indent = inner, .column = inner, .reserve = 1};
    absl::StrAppend(&broken, Indent(inner), element(i, inside), ",\n");
  }
  return absl::StrCat(broken, Indent(place.indent), bare_close);
}

std::string FormatBinding(const syntax::Expression& expression, Binding at_least, Place place);

std::string FormatArgument(const syntax::Argument& argument, Place place) {
  if (!argument.name) return FormatExpression(*argument.value, place);
  const std::string name = absl::StrCat(argument.name->text, " = ");
  place.column += static_cast<int>(name.size());
  return name + FormatExpression(*argument.value, place);
}

std::string FormatArguments(const std::vector<syntax::Argument>& arguments, bool is_tuple, Place place) {
  const bool comma_after_single = is_tuple && arguments.size() == 1 && !arguments[0].name;
  return FormatList("(", arguments.size(), ")", comma_after_single, place,
                    [&](size_t i, Place inside) { return FormatArgument(arguments[i], inside); });
}

std::string FormatBinary(const syntax::Binary& binary, Place place) {
  const Binding binding = BindingOf(binary.op);
  // A power is right associative, and a sign may stand in front of its exponent.
  const Binding left = binding == kComparison ? kSum : binding == kPower ? kSuffix : binding;
  const Binding right = binding == kPower ? kPrefix : static_cast<Binding>(binding + 1);
  const absl::string_view op = syntax::OperatorText(binary.op);
  const std::string flat = absl::StrCat(FormatBinding(*binary.left, left, kOneLine), " ", op, " ",
                                        FormatBinding(*binary.right, right, kOneLine));
  if (Fits(flat, place)) return flat;
  // The operator begins the next line.
  const int inner = place.indent + kIndentWidth;
  const Place before{.indent = place.indent, .column = place.column, .reserve = 0};
  const Place after{.indent = inner, .column = inner + static_cast<int>(op.size()) + 1, .reserve = place.reserve};
  return absl::StrCat(FormatBinding(*binary.left, left, before), "\n", Indent(inner), op, " ",
                      FormatBinding(*binary.right, right, after));
}

std::string FormatSubscript(const syntax::Subscript& subscript) {
  const syntax::Expression* begin = subscript.begin ? &**subscript.begin : nullptr;
  if (!subscript.is_range) return FormatExpression(*begin, kOneLine);
  return FormatRange(begin, subscript.end ? &**subscript.end : nullptr, subscript.step ? &**subscript.step : nullptr);
}

std::string FormatAttributed(const syntax::Attributed& attributed, Place place) {
  std::string text;
  for (const syntax::Attribute& attribute : attributed.attributes) {
    const Place at{
        .indent = place.indent, .column = ColumnAfter(text, place.column), .reserve = 1, .one_line = place.one_line};
    absl::StrAppend(&text, FormatAttribute(attribute, at), " ");
  }
  const std::string operand = FormatBinding(*attributed.operand, kPrefix, kOneLine);
  Place behind{.indent = place.indent,
               .column = ColumnAfter(text, place.column),
               .reserve = place.reserve,
               .one_line = place.one_line};
  if (Fits(operand, behind)) return text + operand;
  text.back() = '\n';
  behind.indent = behind.column = place.indent + kIndentWidth;
  return absl::StrCat(text, Indent(behind.indent), FormatBinding(*attributed.operand, kPrefix, behind));
}

// In parentheses where it binds less than `at_least`.
std::string FormatBinding(const syntax::Expression& expression, Binding at_least, Place place) {
  if (BindingOf(expression) >= at_least) return FormatExpression(expression, place);
  ++place.column;
  ++place.reserve;
  return absl::StrCat("(", FormatExpression(expression, place), ")");
}

}  // namespace

int ColumnAfter(const std::string& text, int column) {
  const size_t newline = text.rfind('\n');
  if (newline == std::string::npos) return column + static_cast<int>(text.size());
  return static_cast<int>(text.size() - newline - 1);
}

std::string FormatRange(const syntax::Expression* begin, const syntax::Expression* end,
                        const syntax::Expression* step) {
  const auto is_simple = [](const syntax::Expression* part) { return part == nullptr || BindingOf(*part) >= kSuffix; };
  const bool is_tight = is_simple(begin) && is_simple(end) && is_simple(step);
  std::string text;
  if (begin != nullptr) absl::StrAppend(&text, FormatExpression(*begin, kOneLine), is_tight ? "" : " ");
  absl::StrAppend(&text, "..");
  if (end != nullptr) absl::StrAppend(&text, is_tight ? "" : " ", FormatExpression(*end, kOneLine));
  if (step == nullptr) return text;
  return absl::StrCat(text, is_tight ? ".." : " .. ", FormatExpression(*step, kOneLine));
}

std::string FormatExpression(const syntax::Expression& expression, Place place) {
  return Match(
      expression.kind, [](const syntax::IntegerLiteral& literal) { return literal.text; },
      [](const syntax::FloatLiteral& literal) { return literal.text; },
      [](const syntax::SizeLiteral& literal) { return literal.text; },
      [](const syntax::TimeLiteral& literal) { return literal.text; },
      [](const syntax::StringLiteral& literal) { return syntax::QuoteString(literal.value); },
      [](const syntax::BoolLiteral& literal) { return std::string(literal.value ? "true" : "false"); },
      [](const syntax::Name& name) { return name.text; }, [](const syntax::Wildcard&) { return std::string("_"); },
      [&](const syntax::Negate& negate) {
        ++place.column;
        return absl::StrCat("-", FormatBinding(*negate.operand, kPrefix, place));
      },
      [&](const syntax::Not& negation) {
        ++place.column;
        return absl::StrCat("!", FormatBinding(*negation.operand, kPrefix, place));
      },
      [&](const syntax::Binary& binary) { return FormatBinary(binary, place); },
      [&](const syntax::Call& call) {
        const std::string callee = FormatBinding(*call.callee, kSuffix, kOneLine);
        place.column += static_cast<int>(callee.size());
        return callee + FormatArguments(call.arguments, false, place);
      },
      [&](const syntax::Layer& layer) {
        constexpr absl::string_view kWord = "layer ";
        place.column += static_cast<int>(kWord.size());
        return absl::StrCat(kWord, FormatExpression(*layer.call, place));
      },
      [](const syntax::Index& index) {
        return absl::StrCat(FormatBinding(*index.base, kSuffix, kOneLine), "[",
                            absl::StrJoin(index.subscripts, ", ",
                                          [](std::string* out, const syntax::Subscript& subscript) {
                                            out->append(FormatSubscript(subscript));
                                          }),
                            "]");
      },
      [&](const syntax::Tuple& tuple) { return FormatArguments(tuple.elements, true, place); },
      [](const syntax::Field& field) {
        return absl::StrCat(FormatBinding(*field.base, kSuffix, kOneLine), ".", field.name.text);
      },
      [&](const syntax::With& with) {
        const std::string head = absl::StrCat(FormatBinding(*with.base, kSuffix, kOneLine), " with ");
        place.column += static_cast<int>(head.size());
        return head + FormatArguments(with.fields, false, place);
      },
      [&](const syntax::Map& map) {
        return FormatList("{ ", map.entries.size(), " }", false, place, [&](size_t i, Place inside) {
          const syntax::MapEntry& entry = map.entries[i];
          const std::string key = absl::StrCat(syntax::QuoteString(entry.key.value), ": ");
          inside.column += static_cast<int>(key.size());
          return key + FormatExpression(*entry.value, inside);
        });
      },
      [&](const syntax::Attributed& attributed) { return FormatAttributed(attributed, place); });
}

std::string FormatAttributeBody(const syntax::Attribute& attribute, Place place) {
  if (!attribute.has_parentheses) return attribute.name.text;
  place.column += static_cast<int>(attribute.name.text.size());
  return absl::StrCat(attribute.name.text, FormatArguments(attribute.arguments, false, place));
}

std::string FormatAttribute(const syntax::Attribute& attribute, Place place) {
  place.column += 2;
  place.reserve += 1;
  return absl::StrCat("#[", FormatAttributeBody(attribute, place), "]");
}

std::string FormatType(const syntax::Type& type) {
  if (!type.dimensions) return type.element.text;
  return absl::StrCat(
      type.element.text, "[",
      absl::StrJoin(*type.dimensions, ", ",
                    [](std::string* out, const syntax::Dimension& dimension) {
                      out->append(Match(
                          dimension.kind, [](const syntax::Identifier& rest) { return absl::StrCat("..", rest.text); },
                          [](const syntax::Expression& size) { return FormatExpression(size, kOneLine); }));
                    }),
      "]");
}

std::string FormatResults(const std::vector<syntax::Type>& results, Place place) {
  if (results.size() < 2) return results.empty() ? "" : FormatType(results[0]);
  return FormatList("(", results.size(), ")", false, place, [&](size_t i, Place) { return FormatType(results[i]); });
}

std::string FormatNames(const std::vector<syntax::Identifier>& names, Place place) {
  if (names.size() == 1) return names[0].text;
  return FormatList("(", names.size(), ")", false, place, [&](size_t i, Place) { return names[i].text; });
}

std::string FormatLooked(const syntax::Expression& value, const std::optional<syntax::Identifier>& part, bool wraps,
                         Place place) {
  const bool needs_parentheses = wraps || (part.has_value() && BindingOf(value) < kSuffix);
  const std::string tail =
      absl::StrCat(needs_parentheses ? ")" : "", part.has_value() ? "." : "", part.has_value() ? part->text : "");
  place.column += needs_parentheses ? 1 : 0;
  place.reserve += static_cast<int>(tail.size());
  return absl::StrCat(needs_parentheses ? "(" : "", FormatExpression(value, place), tail);
}

std::string FormatParameter(const syntax::Parameter& parameter, Place place) {
  std::string text = absl::StrCat(parameter.name.text, ": ", FormatType(parameter.type));
  if (!parameter.default_value) return text;
  absl::StrAppend(&text, " = ");
  place.column += static_cast<int>(text.size());
  return text + FormatExpression(*parameter.default_value, place);
}

std::string FormatParameters(const std::vector<syntax::Parameter>& parameters, Place place) {
  return FormatList("(", parameters.size(), ")", false, place,
                    [&](size_t i, Place inside) { return FormatParameter(parameters[i], inside); });
}

}  // namespace cleave::dsl
