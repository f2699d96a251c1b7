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
Expression CallWith(const Context& c, absl::string_view function, const std::vector<std::string>& attributes) {
  std::vector<Expression> arguments(c.arguments.begin(), c.arguments.end());
  for (const std::string& name : attributes) {
    arguments.push_back({FloatLiteral(c.compute.attributes.GetDouble(name))});
  }
  return Call(function, arguments);
}

Expression Clamp(const Context& c) { return CallWith(c, "Clamp", {"low", "high"}); }
Expression LeakyRelu(const Context& c) { return CallWith(c, "LeakyRelu", {"slope"}); }
Expression LeakyReluGradient(const Context& c) { return CallWith(c, "LeakyReluGradient", {"slope"}); }

// Repeated products are fast and exact for small whole exponents only.
Expression Power(const Context& c) {
  constexpr double kMostFactors = 16;
  const double exponent = c.compute.attributes.GetDouble("exponent");
  if (exponent == 1) return c.arguments[0];
  if (exponent == 2) return Call("Square", c.arguments);
  if (exponent == 0.5) return Call("std::sqrt", c.arguments);
  if (std::abs(exponent) <= kMostFactors && exponent == std::trunc(exponent)) {
    return Call(absl::StrCat("Power<", static_cast<int>(exponent), ">"), c.arguments);
  }
  return CallWith(c, "std::pow", {"exponent"});
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
  const double factor = c.compute.attributes.GetDouble("factor");
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

const std::map<absl::string_view, Formula>& Formulas() {
  static const auto* const formulas = new std::map<absl::string_view, Formula>{
      {"abs", Function<kAbs>},
      {"add", Add},
      {"bias_add", Add},
      {"broadcast_to", Same},
      {"cast", Cast},
      {"clamp", Clamp},
      {"cos", Function<kCos>},
      {"div", Div},
      {"equal", Comparison<kEqual>},
      {"erf", Function<kErf>},
      {"exp", Function<kExp>},
      {"gelu", Function<kGelu>},
      {"gelu_gradient", Function<kGeluGradient>},
      {"greater", Comparison<kGreater>},
      {"greater_equal", Comparison<kGreaterEqual>},
      {"leaky_relu", LeakyRelu},
      {"leaky_relu_gradient", LeakyReluGradient},
      {"less", Comparison<kLess>},
      {"less_equal", Comparison<kLessEqual>},
      {"log", Function<kLog>},
      {"mae_gradient", MaeGradient},
      {"maximum", Function<kMaximum>},
      {"minimum", Function<kMinimum>},
      {"mse_gradient", MseGradient},
      {"mul", Mul},
      {"neg", Neg},
      {"not_equal", Comparison<kNotEqual>},
      {"pow", Function<kPow>},
      {"power", Power},
      {"relu", Function<kRelu>},
      {"relu_gradient", Function<kReluGradient>},
      {"rsqrt", Rsqrt},
      {"scale", Scale},
      {"sigmoid", Function<kSigmoid>},
      {"sigmoid_gradient", Function<kSigmoidGradient>},
      {"sign", Function<kSign>},
      {"silu", Function<kSilu>},
      {"sin", Function<kSin>},
      {"softplus", Function<kSoftplus>},
      {"sqrt", Function<kSqrt>},
      {"square", Function<kSquare>},
      {"sub", Sub},
      {"tanh", Function<kTanh>},
      {"tanh_gradient", Function<kTanhGradient>},
      {"where", Where},
  };
  return *formulas;
}

}  // namespace

std::string Bound(const Expression& expression, Binding binding) {
  return expression.binding < binding ? absl::StrCat("(", expression.text, ")") : expression.text;
}

bool HasExpression(absl::string_view kind) { return Formulas().count(kind) > 0; }

Expression ElementExpression(const Program& program, const Compute& compute, absl::Span<const Expression> arguments) {
  const auto found = Formulas().find(compute.kind);
  CLEAVE_CHECK(found != Formulas().end()) << "no expression for `" << compute.kind << "`";
  return found->second({program, compute, arguments});
}

}  // namespace cleave
