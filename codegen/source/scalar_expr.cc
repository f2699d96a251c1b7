#include "codegen/source/scalar_expr.h"

#include <algorithm>
#include <vector>

#include "base/check/check.h"

namespace cleave::codegen {
namespace {

// The operator that a primitive is, or empty.
absl::string_view SymbolOf(ir::Primitive primitive) {
  switch (primitive) {
    case ir::Primitive::kAdd:
      return "+";
    case ir::Primitive::kSubtract:
      return "-";
    case ir::Primitive::kMultiply:
      return "*";
    case ir::Primitive::kDivide:
      return "/";
    case ir::Primitive::kEqual:
      return "==";
    case ir::Primitive::kNotEqual:
      return "!=";
    case ir::Primitive::kLess:
      return "<";
    case ir::Primitive::kLessEqual:
      return "<=";
    case ir::Primitive::kGreater:
      return ">";
    case ir::Primitive::kGreaterEqual:
      return ">=";
    default:
      return "";
  }
}

// What both arithmetics call, or empty.
absl::string_view StandardFunction(ir::Primitive primitive) {
  switch (primitive) {
    case ir::Primitive::kAbs:
      return "std::abs";
    case ir::Primitive::kLog:
      return "std::log";
    case ir::Primitive::kSqrt:
      return "std::sqrt";
    case ir::Primitive::kSin:
      return "std::sin";
    case ir::Primitive::kCos:
      return "std::cos";
    case ir::Primitive::kTanh:
      return "std::tanh";
    case ir::Primitive::kPow:
      return "std::pow";
    default:
      return "";
  }
}

bool YieldsTruth(ir::Primitive primitive) {
  return primitive >= ir::Primitive::kEqual && primitive <= ir::Primitive::kGreaterEqual;
}

}  // namespace

cpp::Expr ScalarExpr(const ir::Scalar& node, absl::Span<const cpp::Expr> operands, const Arithmetic& arithmetic) {
  if (node.Is(ir::Primitive::kNegate)) return -operands[0];
  if (node.Is(ir::Primitive::kSelect)) {
    return cpp::Choice(ConditionOf(operands[0], arithmetic), operands[1], operands[2]);
  }
  if (const absl::string_view symbol = SymbolOf(node.primitive()); !symbol.empty()) {
    const cpp::Expr result = cpp::Infix(operands[0], symbol, operands[1]);
    if (!YieldsTruth(node.primitive())) return result;
    return cpp::Choice(result, arithmetic.literal(1), arithmetic.literal(0));
  }
  absl::string_view function = arithmetic.function(node.primitive());
  if (function.empty()) function = StandardFunction(node.primitive());
  CLEAVE_CHECK(!function.empty()) << "no expression for primitive " << static_cast<int>(node.primitive());
  return cpp::Call(function, {operands.begin(), operands.end()});
}

cpp::Expr ConditionOf(const cpp::Expr& value, const Arithmetic& arithmetic) {
  const cpp::Expr::Node& node = value.node();
  const bool holds = node.kind == cpp::Expr::Kind::kConditional && node.operands[1] == arithmetic.literal(1) &&
                     node.operands[2] == arithmetic.literal(0);
  return holds ? node.operands[0] : cpp::Infix(value, "!=", arithmetic.literal(0));
}

size_t LongestOf(absl::Span<const cpp::Expr> operands) {
  const auto longest = std::max_element(operands.begin(), operands.end(),
                                        [](const cpp::Expr& a, const cpp::Expr& b) { return a.length() < b.length(); });
  return static_cast<size_t>(longest - operands.begin());
}

}  // namespace cleave::codegen
