#include "frontend/evaluate/statics/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dsl/syntax/print.h"
#include "frontend/evaluate/statics/per_rank.h"
#include "frontend/evaluate/statics/step_formula.h"

namespace cleave::frontend {
namespace {

using dsl::syntax::BinaryOperator;

bool IsComparison(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd:
    case BinaryOperator::kSubtract:
    case BinaryOperator::kMultiply:
    case BinaryOperator::kDivide:
    case BinaryOperator::kRemainder:
    case BinaryOperator::kPower:
    case BinaryOperator::kAnd:
    case BinaryOperator::kOr:
      return false;
    case BinaryOperator::kEqual:
    case BinaryOperator::kNotEqual:
    case BinaryOperator::kLess:
    case BinaryOperator::kLessEqual:
    case BinaryOperator::kGreater:
    case BinaryOperator::kGreaterEqual:
      return true;
  }
  return false;
}

template <typename T>
bool Compare(BinaryOperator op, const T& left, const T& right) {
  switch (op) {
    case BinaryOperator::kEqual:
      return left == right;
    case BinaryOperator::kNotEqual:
      return !(left == right);
    case BinaryOperator::kLess:
      return left < right;
    case BinaryOperator::kLessEqual:
      return !(right < left);
    case BinaryOperator::kGreater:
      return right < left;
    default:
      return !(left < right);
  }
}

// By squaring. REQUIRES: the exponent is not negative. Nullopt where the result does not fit.
std::optional<int64_t> WholePower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

// Nullopt where the result does not fit or does not exist.
std::optional<int64_t> Compute(BinaryOperator op, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (op) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return std::nullopt;
      return result;
    case BinaryOperator::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) return std::nullopt;
      return result;
    case BinaryOperator::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) return std::nullopt;
      return result;
    case BinaryOperator::kPower:
      return WholePower(left, right);
    default:
      if (right == 0 || (left == std::numeric_limits<int64_t>::min() && right == -1)) return std::nullopt;
      return op == BinaryOperator::kDivide ? left / right : left % right;
  }
}

double Compute(BinaryOperator op, double left, double right) {
  switch (op) {
    case BinaryOperator::kAdd:
      return left + right;
    case BinaryOperator::kSubtract:
      return left - right;
    case BinaryOperator::kMultiply:
      return left * right;
    case BinaryOperator::kDivide:
      return left / right;
    case BinaryOperator::kPower:
      return std::pow(left, right);
    default:
      return std::fmod(left, right);
  }
}

}  // namespace

Value Arithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const ir::Graph& graph,
                 Reporter& reporter) {
  const auto fail = [&](std::string why) {
    reporter.Report(Error(Code::kE0208, std::move(why))
                        .At(binary.operator_span,
                            absl::StrCat("`", ValueText(left, graph), " ", dsl::syntax::OperatorText(binary.op), " ",
                                         ValueText(right, graph), "` here")));
    return Value{Poison()};
  };
  if (left.is_of_step() || right.is_of_step()) return StepArithmetic(binary, left, right, graph, reporter);
  if (left.is_per_rank() || right.is_per_rank()) {
    return RankByRank({left, right}, graph, reporter, [&](const std::vector<Value>& of_rank) {
      return Arithmetic(binary, of_rank[0], of_rank[1], graph, reporter);
    });
  }
  // A negative exponent gives a fraction.
  const bool is_fraction = binary.op == BinaryOperator::kPower && right.is_int() && right.as_int() < 0;
  if (left.is_int() && right.is_int() && !is_fraction) {
    if (IsComparison(binary.op)) return Value{Compare(binary.op, left.as_int(), right.as_int())};
    if (auto result = Compute(binary.op, left.as_int(), right.as_int())) return Value{*result};
    const bool divides = binary.op == BinaryOperator::kDivide || binary.op == BinaryOperator::kRemainder;
    return fail(divides && right.as_int() == 0 ? "division by zero" : "the result does not fit in 64 bits");
  }
  if (left.is_number() && right.is_number()) {
    if (IsComparison(binary.op)) return Value{Compare(binary.op, left.as_number(), right.as_number())};
    const double result = Compute(binary.op, left.as_number(), right.as_number());
    if (std::isfinite(result)) return Value{result};
    const bool divides = binary.op == BinaryOperator::kDivide || binary.op == BinaryOperator::kRemainder;
    return fail(divides && right.as_number() == 0 ? "division by zero" : "the result is not a finite number");
  }
  if (left.kind.index() == right.kind.index() &&
      (binary.op == BinaryOperator::kEqual || binary.op == BinaryOperator::kNotEqual)) {
    return Value{Compare(binary.op, left == right, true)};
  }
  if (left.is_tuple() && right.is_tuple() && binary.op == BinaryOperator::kAdd) {
    TupleValue both{left.as_tuple()};
    both.elements.insert(both.elements.end(), right.as_tuple().begin(), right.as_tuple().end());
    return Value{std::move(both)};
  }
  const std::string op(dsl::syntax::OperatorText(binary.op));
  reporter.Report(
      Error(Code::kE0204, absl::StrCat("`", op, "` does not take these values"))
          .At(binary.operator_span, absl::StrCat(DescribeType(left, graph), " ", op, " ", DescribeType(right, graph))));
  return Value{Poison()};
}

Value NegateNumber(const Value& value, Span span, const ir::Graph& graph, Reporter& reporter) {
  if (value.is_of_step()) return NegateOfStep(value, span, graph, reporter);
  if (value.is_per_rank()) {
    return RankByRank({value}, graph, reporter, [&](const std::vector<Value>& of_rank) {
      return NegateNumber(of_rank[0], span, graph, reporter);
    });
  }
  if (value.is_float()) return Value{-std::get<double>(value.kind)};
  if (value.is_int() && value.as_int() != std::numeric_limits<int64_t>::min()) return Value{-value.as_int()};
  reporter.Report(Error(Code::kE0204, "`-` takes a number or a tensor")
                      .At(span, absl::StrCat("this negates ", DescribeType(value, graph))));
  return Value{Poison()};
}

std::optional<Value> StaticFunction(const std::string& name, const std::vector<Value>& values, Span span,
                                    const ir::Graph& graph, Reporter& reporter) {
  const auto is_number = [](const Value& value) { return OnRank(value, 0).is_number(); };
  if (std::any_of(values.begin(), values.end(), [](const Value& value) { return value.is_of_step(); })) {
    return StepFunction(name, values, span, reporter);
  }
  const std::optional<ir::ScalarFunction> function = NumberFunction(name, values.size());
  if (!function.has_value() || !std::all_of(values.begin(), values.end(), is_number)) return std::nullopt;
  if (std::any_of(values.begin(), values.end(), [](const Value& value) { return value.is_per_rank(); })) {
    return RankByRank(values, graph, reporter, [&](const std::vector<Value>& of_rank) {
      return *StaticFunction(name, of_rank, span, graph, reporter);
    });
  }
  std::vector<double> numbers;
  for (const Value& value : values) numbers.push_back(value.as_number());
  const double result = ir::Calculation(function->value, function->parameters)(numbers);
  if (std::isfinite(result)) return Value{result};
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(ValueText(value, graph));
  reporter.Report(Error(Code::kE0208, absl::StrCat("`", name, "` has no finite result here"))
                      .At(span, absl::StrCat("of ", absl::StrJoin(texts, " and "))));
  return Value{Poison()};
}

}  // namespace cleave::frontend
