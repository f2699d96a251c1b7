#include "frontend/evaluate/statics/step_formula.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dsl/syntax/print.h"

namespace cleave::frontend {
namespace {

using dsl::syntax::BinaryOperator;

// Formulas are written as text, in which shared parts are repeated; far above the needs of any schedule.
constexpr int kLargestFormula = 1000;

bool IsNumberOfStep(const Value& value) {
  return value.is_number() || (value.is_of_step() && !value.as_of_step().is_condition);
}

Value MakeFormula(ir::Scalar formula, bool is_condition, const std::vector<StepValue>& operands, Span span,
                  Reporter& reporter) {
  int size = 1;
  for (const StepValue& operand : operands) size += operand.size;
  if (size <= kLargestFormula) {
    return Value{StepValue{.formula = std::move(formula), .is_condition = is_condition, .size = size}};
  }
  reporter.Report(Error(Code::kE0213, "a formula of the step that is too long")
                      .At(span, absl::StrCat("more than ", kLargestFormula, " numbers and operations")));
  return Value{Poison()};
}

// x - y * trunc(x / y), as fmod.
ir::Scalar RemainderOfStep(const ir::Scalar& x, const ir::Scalar& y) { return x - y * ir::ToInt32(x / y); }

// The largest whole number that is not above x.
ir::Scalar Floor(const ir::Scalar& x) {
  const ir::Scalar whole = ir::ToInt32(x);
  return whole - (whole > x);
}

ir::Scalar Operation(BinaryOperator op, const ir::Scalar& x, const ir::Scalar& y) {
  switch (op) {
    case BinaryOperator::kAdd:
      return x + y;
    case BinaryOperator::kSubtract:
      return x - y;
    case BinaryOperator::kMultiply:
      return x * y;
    case BinaryOperator::kDivide:
      return x / y;
    case BinaryOperator::kRemainder:
      return RemainderOfStep(x, y);
    case BinaryOperator::kPower:
      return ir::Pow(x, y);
    case BinaryOperator::kEqual:
      return ir::Equal(x, y);
    case BinaryOperator::kNotEqual:
      return ir::NotEqual(x, y);
    case BinaryOperator::kLess:
      return x < y;
    case BinaryOperator::kLessEqual:
      return x <= y;
    case BinaryOperator::kGreater:
      return x > y;
    case BinaryOperator::kGreaterEqual:
      return x >= y;
    case BinaryOperator::kAnd:
      return x * y;
    case BinaryOperator::kOr:
      return ir::Maximum(x, y);
  }
  return x;
}

Value AsWhole(bool is_whole, Value value) {
  if (value.is_of_step()) std::get<StepValue>(value.kind).is_whole = is_whole;
  return value;
}

bool GivesBool(BinaryOperator op) { return op >= BinaryOperator::kEqual; }

}  // namespace

Value StepNumber() { return Value{StepValue{.formula = ir::Variable("step"), .name = "step"}}; }

StepValue ToFormula(const Value& value) {
  return value.is_of_step() ? value.as_of_step()
                            : StepValue{.formula = ir::Scalar(value.as_number()), .is_whole = value.is_int()};
}

Value StepArithmetic(const dsl::syntax::Binary& binary, const Value& left, const Value& right, const ir::Graph& graph,
                     Reporter& reporter) {
  const bool divides = binary.op == BinaryOperator::kDivide || binary.op == BinaryOperator::kRemainder;
  if (!IsNumberOfStep(left) || !IsNumberOfStep(right)) {
    const std::string op(dsl::syntax::OperatorText(binary.op));
    reporter.Report(Error(Code::kE0204, absl::StrCat("`", op, "` does not take these values"))
                        .At(binary.operator_span,
                            absl::StrCat(DescribeType(left, graph), " ", op, " ", DescribeType(right, graph))));
    return Value{Poison()};
  }
  if (divides && right.is_number() && right.as_number() == 0) {
    reporter.Report(Error(Code::kE0208, "division by zero").At(binary.operator_span, "divided by 0 here"));
    return Value{Poison()};
  }
  const StepValue x = ToFormula(left);
  const StepValue y = ToFormula(right);
  // A remainder reads both operands twice.
  const std::vector<StepValue> operands =
      binary.op == BinaryOperator::kRemainder ? std::vector<StepValue>{x, y, x, y} : std::vector<StepValue>{x, y};
  const bool is_whole = x.is_whole && y.is_whole && !GivesBool(binary.op) && binary.op != BinaryOperator::kPower;
  const ir::Scalar result = Operation(binary.op, x.formula, y.formula);
  return AsWhole(is_whole, MakeFormula(is_whole && binary.op == BinaryOperator::kDivide ? ir::ToInt32(result) : result,
                                       GivesBool(binary.op), operands, binary.operator_span, reporter));
}

Value NegateOfStep(const Value& value, Span span, const ir::Graph& graph, Reporter& reporter) {
  if (IsNumberOfStep(value)) {
    return AsWhole(value.as_of_step().is_whole,
                   MakeFormula(-value.as_of_step().formula, false, {value.as_of_step()}, span, reporter));
  }
  reporter.Report(Error(Code::kE0204, "`-` takes a number or a tensor")
                      .At(span, absl::StrCat("this negates ", DescribeType(value, graph))));
  return Value{Poison()};
}

Value LogicOfStep(const dsl::syntax::Binary& binary, const StepValue& left, const StepValue& right,
                  Reporter& reporter) {
  return MakeFormula(Operation(binary.op, left.formula, right.formula), true, {left, right}, binary.operator_span,
                     reporter);
}

Value NotOfStep(const StepValue& value, Span span, Reporter& reporter) {
  return MakeFormula(ir::Equal(value.formula, 0), true, {value}, span, reporter);
}

std::optional<ir::ScalarFunction> NumberFunction(const std::string& name, size_t arguments) {
  const ir::Scalar x = ir::Variable("x");
  const ir::Scalar y = ir::Variable("y");
  const std::vector<std::pair<std::string, ir::Scalar>> of_one = {{"sqrt", ir::Sqrt(x)}, {"exp", ir::Exp(x)},
                                                                  {"log", ir::Log(x)},   {"sin", ir::Sin(x)},
                                                                  {"cos", ir::Cos(x)},   {"floor", Floor(x)}};
  const std::vector<std::pair<std::string, ir::Scalar>> of_two = {
      {"minimum", ir::Minimum(x, y)}, {"maximum", ir::Maximum(x, y)}, {"pow", ir::Pow(x, y)}};
  if (arguments != 1 && arguments != 2) return std::nullopt;
  const std::vector<std::string> parameters =
      arguments == 1 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "y"};
  for (const auto& [known, value] : arguments == 1 ? of_one : of_two) {
    if (known == name) return ir::ScalarFunction{.name = name, .parameters = parameters, .value = value};
  }
  return std::nullopt;
}

std::optional<Value> StepFunction(const std::string& name, const std::vector<Value>& values, Span span,
                                  Reporter& reporter) {
  const std::optional<ir::ScalarFunction> function = NumberFunction(name, values.size());
  if (!function.has_value() || !std::all_of(values.begin(), values.end(), IsNumberOfStep)) return std::nullopt;
  std::map<std::string, ir::Scalar> arguments;
  std::vector<StepValue> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    operands.push_back(ToFormula(values[i]));
    arguments.emplace(function->parameters[i], operands.back().formula);
  }
  // `floor` reads its argument three times.
  if (name == "floor") operands.insert(operands.end(), 2, operands[0]);
  return MakeFormula(ir::Substitute(function->value, arguments), false, operands, span, reporter);
}

std::optional<Value> ChooseByStep(const Value& condition, const Value& then, const Value& otherwise, Span span,
                                  Reporter& reporter) {
  if (!IsNumberOfStep(then) || !IsNumberOfStep(otherwise)) return std::nullopt;
  const StepValue a = ToFormula(then);
  const StepValue b = ToFormula(otherwise);
  return MakeFormula(ir::Select(condition.as_of_step().formula, a.formula, b.formula), false,
                     {condition.as_of_step(), a, b}, span, reporter);
}

double ValueAtStep(const StepValue& value, double step) { return ir::Calculation(value.formula, {"step"})({step}); }

}  // namespace cleave::frontend
