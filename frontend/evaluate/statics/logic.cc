#include "frontend/evaluate/statics/logic.h"

#include "absl/strings/str_cat.h"
#include "dsl/syntax/print.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/evaluate/statics/step_formula.h"

namespace cleave::frontend {
namespace {

bool IsStaticBool(const Value& value) { return std::holds_alternative<bool>(value.kind); }

bool IsConditionOfStep(const Value& value) { return value.is_of_step() && value.as_of_step().is_condition; }

}  // namespace

bool IsLogic(dsl::syntax::BinaryOperator op) {
  return op == dsl::syntax::BinaryOperator::kAnd || op == dsl::syntax::BinaryOperator::kOr;
}

bool Decides(dsl::syntax::BinaryOperator op, const Value& operand) {
  return operand == Value{op == dsl::syntax::BinaryOperator::kOr};
}

Value Logic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const ir::Graph& graph,
            Reporter& reporter) {
  const bool ranks_have_bools = IsStaticBool(OnRank(left, 0)) && IsStaticBool(OnRank(right, 0));
  if (ranks_have_bools && (left.is_per_rank() || right.is_per_rank())) {
    return RankByRank({left, right}, graph, reporter, [&](const std::vector<Value>& of_rank) {
      return Logic(binary, of_rank[0], of_rank[1], graph, reporter);
    });
  }
  const auto fits = [](const Value& value) { return IsStaticBool(value) || IsConditionOfStep(value); };
  if (!fits(left) || !fits(right)) {
    const absl::string_view op = dsl::syntax::OperatorText(binary.op);
    reporter.Report(
        Error(Code::kE0204, absl::StrCat("`", op, "` does not take these values"))
            .At(binary.operator_span, absl::StrCat(DescribeType(left, graph), " ", op, " ", DescribeType(right, graph)))
            .Note("it takes bools, and tensors that are true where they are not 0"));
    return Value{Poison()};
  }
  if (IsStaticBool(left)) return Decides(binary.op, left) ? left : right;
  if (IsStaticBool(right)) return Decides(binary.op, right) ? right : left;
  return LogicOfStep(binary, left.as_of_step(), right.as_of_step(), reporter);
}

Value NegateBool(const Value& value, Span span, const ir::Graph& graph, Reporter& reporter) {
  if (const bool* truth = std::get_if<bool>(&value.kind)) return Value{!*truth};
  if (value.is_per_rank() && IsStaticBool(OnRank(value, 0))) {
    return RankByRank({value}, graph, reporter,
                      [&](const std::vector<Value>& of_rank) { return NegateBool(of_rank[0], span, graph, reporter); });
  }
  if (IsConditionOfStep(value)) return NotOfStep(value.as_of_step(), span, reporter);
  reporter.Report(Error(Code::kE0204, "`!` takes a bool or a tensor")
                      .At(span, absl::StrCat("this negates ", DescribeType(value, graph))));
  return Value{Poison()};
}

}  // namespace cleave::frontend
