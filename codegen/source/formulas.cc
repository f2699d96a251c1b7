#include "codegen/source/formulas.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/source/scalar_expr.h"

namespace cleave::codegen {
namespace {

absl::string_view FormulaFunction(ir::Primitive primitive) {
  switch (primitive) {
    case ir::Primitive::kMaximum:
      return "std::max";
    case ir::Primitive::kMinimum:
      return "std::min";
    case ir::Primitive::kToInt32:
      return "std::trunc";
    case ir::Primitive::kExp:
      return "std::exp";
    case ir::Primitive::kErf:
      return "std::erf";
    default:
      return "";
  }
}

constexpr Arithmetic kDoubles = {.literal = cpp::Double, .function = FormulaFunction};

// Writes a formula. Where `terms` is given, what makes a line too long becomes a constant there.
class FormulaWriter {
 public:
  FormulaWriter(const FormulaNames& names, cpp::Code* terms) : names_(names), terms_(terms) {}

  cpp::Expr ValueOf(const ir::Scalar& node) {
    if (node.Is(ir::Primitive::kVariable)) return names_.step;
    if (node.Is(ir::Primitive::kNumber)) {
      const auto named = names_.numbers.find(node.name());
      return named == names_.numbers.end() ? cpp::Double(node.number()) : cpp::Name(named->second);
    }
    std::vector<cpp::Expr> operands;
    for (const ir::Scalar& operand : node.operands()) operands.push_back(ValueOf(operand));
    cpp::Expr value = ScalarExpr(node, operands, kDoubles);
    while (terms_ != nullptr && value.length() > kLongest) {
      const size_t longest = LongestOf(operands);
      if (operands[longest].length() <= names_.step.length()) break;
      operands[longest] = Named(operands[longest]);
      value = ScalarExpr(node, operands, kDoubles);
    }
    return value;
  }

 private:
  static constexpr size_t kLongest = 96;

  cpp::Expr Named(const cpp::Expr& value) {
    const std::string name = absl::StrCat("term", ++count_);
    terms_->Declare({cpp::Name("const double"), name}, value);
    return cpp::Name(name);
  }

  const FormulaNames& names_;
  cpp::Code* const terms_;
  int count_ = 0;
};

}  // namespace

cpp::Expr FormulaExpr(const ir::Scalar& formula, const FormulaNames& names) {
  return FormulaWriter(names, nullptr).ValueOf(formula);
}

cpp::Expr FormulaCondition(const ir::Scalar& formula, const FormulaNames& names) {
  return ConditionOf(FormulaExpr(formula, names), kDoubles);
}

cpp::Code FormulaStatements(const ir::Scalar& formula, const FormulaNames& names) {
  cpp::Code code;
  const cpp::Expr value = FormulaWriter(names, &code).ValueOf(formula);
  code.Return(value);
  return code;
}

}  // namespace cleave::codegen
