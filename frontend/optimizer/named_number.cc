#include "frontend/optimizer/named_number.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::frontend {
namespace {

bool IsLiteral(const dsl::syntax::Expression& expression) {
  if (const auto* negated = std::get_if<dsl::syntax::Negate>(&expression.kind)) return IsLiteral(*negated->operand);
  return std::holds_alternative<dsl::syntax::IntegerLiteral>(expression.kind) ||
         std::holds_alternative<dsl::syntax::FloatLiteral>(expression.kind);
}

}  // namespace

std::optional<Value> NamedNumber(const dsl::syntax::Parameter& parameter, const dsl::syntax::Argument* given,
                                 const std::string& name, const std::map<std::string, Value>& names,
                                 Evaluator& evaluator) {
  const std::string& type = parameter.type.element.text;
  const bool is_whole = type == "int";
  if (parameter.type.dimensions.has_value() || (!is_whole && type != "float")) return std::nullopt;
  if (given == nullptr && (!parameter.default_value.has_value() || !IsLiteral(*parameter.default_value))) {
    return std::nullopt;
  }
  Value value = evaluator.EvaluateInStep(given != nullptr ? *given->value : *parameter.default_value, names);
  if (value.is_of_step() && !value.as_of_step().is_condition && !is_whole) return value;
  if (!(is_whole ? value.is_int() : value.is_number())) return std::nullopt;
  // What a formula cannot name stays a number.
  if (name.find_first_of("(), =") != std::string::npos) return value;
  StepValue named{.formula = ir::NamedNumber(name, value.as_number()), .name = parameter.name.text};
  if (is_whole) {
    named.is_whole = true;
    evaluator.demands().Add(ir::Equal(ir::ToInt32(named.formula), named.formula),
                            absl::StrCat("`", name, "` must be a whole number, not {", name, "}"));
  }
  return Value{std::move(named)};
}

}  // namespace cleave::frontend
