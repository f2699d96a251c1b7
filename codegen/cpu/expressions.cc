#include "codegen/cpu/expressions.h"

#include <map>

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

Expression Equal(const Context& c) {
  return {absl::StrCat(Bound(c.arguments[0], Binding::kSum), " == ", Bound(c.arguments[1], Binding::kSum),
                       " ? 1.0f : 0.0f"),
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

constexpr const char* kExp = "Exp";
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
  if (from == to) return c.arguments[0];
  return Call(to == DType::kF32 ? "static_cast<float>" : "static_cast<int32_t>", c.arguments);
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
      {"div", Div},
      {"equal", Equal},
      {"exp", Function<kExp>},
      {"gelu", Function<kGelu>},
      {"gelu_gradient", Function<kGeluGradient>},
      {"log", Function<kLog>},
      {"mae_gradient", MaeGradient},
      {"mse_gradient", MseGradient},
      {"mul", Mul},
      {"neg", Neg},
      {"relu", Function<kRelu>},
      {"relu_gradient", Function<kReluGradient>},
      {"rsqrt", Rsqrt},
      {"scale", Scale},
      {"sigmoid", Function<kSigmoid>},
      {"sigmoid_gradient", Function<kSigmoidGradient>},
      {"sign", Function<kSign>},
      {"sqrt", Function<kSqrt>},
      {"square", Function<kSquare>},
      {"sub", Sub},
      {"tanh", Function<kTanh>},
      {"tanh_gradient", Function<kTanhGradient>},
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
