#include "codegen/source/expressions.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "codegen/emit/text.h"

namespace cleave {
namespace {

using Arguments = absl::Span<const Expression>;

struct Context {
  const Program& program;
  const Compute& compute;
  Arguments arguments;
};

using Formula = Expression (*)(const Context& context);

Expression Call(absl::string_view function, Arguments arguments) {
  return {absl::StrCat(
      function, "(",
      absl::StrJoin(arguments, ", ",
                    [](std::string* out, const Expression& argument) { absl::StrAppend(out, argument.text); }),
      ")")};
}

// A chain of one operator may stand without parentheses on the left only: floating-point sums have an order.
Expression Infix(const Expression& a, absl::string_view symbol, const Expression& b, Binding binding) {
  const Binding tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  return {absl::StrCat(Bound(a, binding), " ", symbol, " ", Bound(b, tighter)), binding};
}

Expression Add(const Context& c) { return Infix(c.arguments[0], "+", c.arguments[1], Binding::kSum); }
Expression Sub(const Context& c) { return Infix(c.arguments[0], "-", c.arguments[1], Binding::kSum); }
Expression Mul(const Context& c) { return Infix(c.arguments[0], "*", c.arguments[1], Binding::kProduct); }
Expression Div(const Context& c) { return Infix(c.arguments[0], "/", c.arguments[1], Binding::kProduct); }

template <const char* const& kSymbol>
Expression Comparison(const Context& c) {
  const std::string condition =
      absl::StrCat(Bound(c.arguments[0], Binding::kSum), " ", kSymbol, " ", Bound(c.arguments[1], Binding::kSum));
  return {absl::StrCat(condition, " ? 1.0f : 0.0f"), Binding::kConditional, condition};
}

constexpr const char* kEqual = "==";
constexpr const char* kNotEqual = "!=";
constexpr const char* kLess = "<";
constexpr const char* kLessEqual = "<=";
constexpr const char* kGreater = ">";
constexpr const char* kGreaterEqual = ">=";

Expression Where(const Context& c) {
  const Expression& chosen = c.arguments[0];
  const std::string condition =
      chosen.condition.empty() ? absl::StrCat(Bound(chosen, Binding::kSum), " != 0.0f") : chosen.condition;
  return {
      absl::StrCat(condition, " ? ", Bound(c.arguments[1], Binding::kSum), " : ", Bound(c.arguments[2], Binding::kSum)),
      Binding::kConditional};
}

Expression Neg(const Context& c) {
  // Two minus signs in a row would be a decrement.
  const std::string operand = Bound(c.arguments[0], Binding::kPrimary);
  return {absl::StrCat("-", operand[0] == '-' ? absl::StrCat("(", operand, ")") : operand), Binding::kUnary};
}

template <const char* const& kFunction>
Expression Function(const Context& c) {
  return Call(kFunction, c.arguments);
}

// f(arguments…, attributes…)
Expression CallWith(const Context& c, absl::string_view function, const std::vector<Attribute<double>>& keys) {
  std::vector<Expression> arguments(c.arguments.begin(), c.arguments.end());
  for (const Attribute<double> key : keys) {
    arguments.push_back({FloatLiteral(c.compute.attributes.Get(key))});
  }
  return Call(function, arguments);
}

Expression Clamp(const Context& c) { return CallWith(c, "Clamp", {attribute::kLow, attribute::kHigh}); }
Expression LeakyRelu(const Context& c) { return CallWith(c, "LeakyRelu", {attribute::kSlope}); }
Expression LeakyReluGradient(const Context& c) { return CallWith(c, "LeakyReluGradient", {attribute::kSlope}); }

// Repeated products are fast and exact for small whole exponents only.
Expression Power(const Context& c) {
  constexpr double kMostFactors = 16;
  const double exponent = c.compute.attributes.Get(attribute::kExponent);
  if (exponent == 1) return c.arguments[0];
  if (exponent == 2) return Call("Square", c.arguments);
  if (exponent == 0.5) return Call("std::sqrt", c.arguments);
  if (std::abs(exponent) <= kMostFactors && exponent == std::trunc(exponent)) {
    return Call(absl::StrCat("Power<", static_cast<int>(exponent), ">"), c.arguments);
  }
  return CallWith(c, "std::pow", {attribute::kExponent});
}

constexpr const char* kExp = "Exp";
constexpr const char* kPow = "std::pow";
constexpr const char* kSin = "std::sin";
constexpr const char* kCos = "std::cos";
constexpr const char* kErf = "Erf";
constexpr const char* kSilu = "Silu";
constexpr const char* kSoftplus = "Softplus";
constexpr const char* kMaximum = "Maximum";
constexpr const char* kMinimum = "Minimum";
constexpr const char* kLog = "std::log";
constexpr const char* kSqrt = "std::sqrt";
constexpr const char* kTanh = "std::tanh";
constexpr const char* kAbs = "std::abs";
constexpr const char* kSigmoid = "Sigmoid";
constexpr const char* kRelu = "Relu";
constexpr const char* kGelu = "Gelu";
constexpr const char* kSquare = "Square";
constexpr const char* kSign = "Sign";
constexpr const char* kReluGradient = "ReluGradient";
constexpr const char* kTanhGradient = "TanhGradient";
constexpr const char* kSigmoidGradient = "SigmoidGradient";
constexpr const char* kGeluGradient = "GeluGradient";

Expression Rsqrt(const Context& c) {
  return {absl::StrCat("1.0f / std::sqrt(", c.arguments[0].text, ")"), Binding::kProduct};
}

Expression Scale(const Context& c) {
  const double factor = c.compute.attributes.Get(attribute::kFactor);
  return Infix({FloatLiteral(factor), factor < 0 ? Binding::kUnary : Binding::kPrimary}, "*", c.arguments[0],
               Binding::kProduct);
}

Expression Cast(const Context& c) {
  const DType from = c.program.value(c.compute.inputs[0]).type.dtype;
  const DType to = c.program.value(c.compute.output).type.dtype;
  // Numbers of other types are computed with in f32.
  if ((from == DType::kI32) == (to == DType::kI32)) return c.arguments[0];
  return Call(to == DType::kI32 ? "static_cast<int32_t>" : "static_cast<float>", c.arguments);
}

Expression Same(const Context& c) { return c.arguments[0]; }

// By the prediction: 2 (p - t) dloss / n, and sign(p - t) dloss / n, with n the elements of the whole tensor.
Expression LossGradient(const Context& c, const Expression& slope) {
  const int64_t elements = c.program.value(c.compute.inputs[0]).type.elements();
  const Expression product = Infix(slope, "*", c.arguments[2], Binding::kProduct);
  return Infix(product, "/", {FloatLiteral(static_cast<double>(elements))}, Binding::kProduct);
}

Expression MseGradient(const Context& c) {
  const Expression difference = Infix(c.arguments[0], "-", c.arguments[1], Binding::kSum);
  return LossGradient(c, Infix({"2.0f"}, "*", difference, Binding::kProduct));
}

Expression MaeGradient(const Context& c) {
  return LossGradient(c, Call("Sign", {Infix(c.arguments[0], "-", c.arguments[1], Binding::kSum)}));
}

const std::map<OpKind, Formula>& Formulas() {
  static const auto* const formulas = new std::map<OpKind, Formula>{
      {OpKind::kAbs, Function<kAbs>},
      {OpKind::kAdd, Add},
      {OpKind::kBiasAdd, Add},
      {OpKind::kBroadcastTo, Same},
      {OpKind::kCast, Cast},
      {OpKind::kClamp, Clamp},
      {OpKind::kCos, Function<kCos>},
      {OpKind::kDiv, Div},
      {OpKind::kEqual, Comparison<kEqual>},
      {OpKind::kErf, Function<kErf>},
      {OpKind::kExp, Function<kExp>},
      {OpKind::kGelu, Function<kGelu>},
      {OpKind::kGeluGradient, Function<kGeluGradient>},
      {OpKind::kGreater, Comparison<kGreater>},
      {OpKind::kGreaterEqual, Comparison<kGreaterEqual>},
      {OpKind::kLeakyRelu, LeakyRelu},
      {OpKind::kLeakyReluGradient, LeakyReluGradient},
      {OpKind::kLess, Comparison<kLess>},
      {OpKind::kLessEqual, Comparison<kLessEqual>},
      {OpKind::kLog, Function<kLog>},
      {OpKind::kMaeGradient, MaeGradient},
      {OpKind::kMaximum, Function<kMaximum>},
      {OpKind::kMinimum, Function<kMinimum>},
      {OpKind::kMseGradient, MseGradient},
      {OpKind::kMul, Mul},
      {OpKind::kNeg, Neg},
      {OpKind::kNotEqual, Comparison<kNotEqual>},
      {OpKind::kPow, Function<kPow>},
      {OpKind::kPower, Power},
      {OpKind::kRelu, Function<kRelu>},
      {OpKind::kReluGradient, Function<kReluGradient>},
      {OpKind::kRsqrt, Rsqrt},
      {OpKind::kScale, Scale},
      {OpKind::kSigmoid, Function<kSigmoid>},
      {OpKind::kSigmoidGradient, Function<kSigmoidGradient>},
      {OpKind::kSign, Function<kSign>},
      {OpKind::kSilu, Function<kSilu>},
      {OpKind::kSin, Function<kSin>},
      {OpKind::kSoftplus, Function<kSoftplus>},
      {OpKind::kSqrt, Function<kSqrt>},
      {OpKind::kSquare, Function<kSquare>},
      {OpKind::kSub, Sub},
      {OpKind::kTanh, Function<kTanh>},
      {OpKind::kTanhGradient, Function<kTanhGradient>},
      {OpKind::kWhere, Where},
  };
  return *formulas;
}

}  // namespace

std::string Bound(const Expression& expression, Binding binding) {
  return expression.binding < binding ? absl::StrCat("(", expression.text, ")") : expression.text;
}

bool HasExpression(OpKind kind) { return Formulas().count(kind) > 0; }

Expression ElementExpression(const Program& program, const Compute& compute, absl::Span<const Expression> arguments) {
  const auto found = Formulas().find(compute.kind);
  CLEAVE_CHECK(found != Formulas().end()) << "no expression for `" << compute.kind << "`";
  return found->second({program, compute, arguments});
}

}  // namespace cleave
