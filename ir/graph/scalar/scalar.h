// Functions of one element, as values. The function of an elementwise op determines its reference value, its gradients,
// its cost and its text.
//
//   const Scalar x = Variable("x");
//   const ScalarFunction sigmoid = {.name = "sigmoid", .parameters = {"x"}, .value = 1 / (1 + Exp(-x))};
//   const Scalar silu = x * Call(sigmoid, {x});
//
// A Scalar is an immutable tree over a few primitives whose nodes may be shared: a node that is used twice is computed
// once. The order of operations is that in which they are written; nothing is rearranged, because the results of
// generated programs depend on it.
#ifndef CLEAVE_IR_GRAPH_SCALAR_SCALAR_H_
#define CLEAVE_IR_GRAPH_SCALAR_SCALAR_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave::ir {

enum class Primitive {
  kVariable,
  kNumber,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kEqual,  // This and the next five: 1 where it holds, else 0.
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kSelect,   // (condition, a, b): a where the condition is not 0, else b.
  kMaximum,  // The larger; a NaN if either is one.
  kMinimum,
  kAbs,
  kQuotient,    // Of whole numbers, towards zero; 0 where the second is 0.
  kRemainder,   // x - y * quotient(x, y) of whole numbers; 0 where the second is 0.
  kPowerOfTwo,  // The least power of two that is at least x, of those of f32's normal numbers; inf and NaN stay.
  kToInt32,     // Towards zero, to the nearest whole number of 32 bits; a NaN becomes 0.
  kExp,
  kLog,
  kLogOnePlus,  // log(1 + t) for t in [0, 1].
  kSqrt,
  kSin,
  kCos,
  kTanh,
  kErf,
  kPow,
  kCall,
};

struct ScalarFunction;

class Scalar {
 public:
  Scalar(double number);  // Implicit, so that `1 + x` can be written.
  Scalar(Primitive primitive, std::vector<Scalar> operands);

  Primitive primitive() const { return node_->primitive; }
  const std::vector<Scalar>& operands() const { return node_->operands; }
  double number() const { return node_->number; }              // Of a kNumber.
  const std::string& variable() const { return node_->name; }  // Of a kVariable.
  const std::string& name() const { return node_->name; }      // Of a kNumber; empty where it has none.
  const ScalarFunction& function() const;                      // Of a kCall.

  bool Is(Primitive primitive) const { return node_->primitive == primitive; }
  bool IsNumber(double number) const { return Is(Primitive::kNumber) && node_->number == number; }
  bool IsLeaf() const { return node_->operands.empty(); }

  // Equal keys mean the same node: shared nodes are one.
  using Key = const void*;
  Key key() const { return node_.get(); }

 private:
  struct Node {
    Primitive primitive;
    std::vector<Scalar> operands = {};
    double number = 0;
    std::string name = {};
    std::shared_ptr<const ScalarFunction> function = nullptr;
  };
  explicit Scalar(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  friend Scalar Variable(std::string name);
  friend Scalar NamedNumber(std::string name, double number);
  friend Scalar Call(ScalarFunction function, std::vector<Scalar> arguments);

  std::shared_ptr<const Node> node_;
};

// A function with a name, which generated programs call by it. Functions of one name are the same.
struct ScalarFunction {
  std::string name = {};  // "leaky_relu"; a function that is not called needs none.
  std::vector<std::string> parameters = {"x"};
  Scalar value = 0;  // In variables with the names of the parameters.

  // The gradients by the first parameters, if they have a better form than the one that follows from `value`. They are
  // written in the parameters, Dy() and Result(). Empty: the form that follows from `value`.
  std::vector<Scalar> gradients = {};

  // The number of arithmetic operations, if it is not that of FlopsOf.
  std::optional<double> flops = {};
};

Scalar Variable(std::string name);
// A number for which a generated program can be given another one by this name.
Scalar NamedNumber(std::string name, double number);
Scalar Call(ScalarFunction function, std::vector<Scalar> arguments);

// In gradients: the gradient by the function's value, and the value itself.
Scalar Dy();
Scalar Result();

Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a);
Scalar operator<(const Scalar& a, const Scalar& b);
Scalar operator<=(const Scalar& a, const Scalar& b);
Scalar operator>(const Scalar& a, const Scalar& b);
Scalar operator>=(const Scalar& a, const Scalar& b);
Scalar Equal(const Scalar& a, const Scalar& b);
Scalar NotEqual(const Scalar& a, const Scalar& b);
Scalar Select(const Scalar& condition, const Scalar& a, const Scalar& b);
Scalar Maximum(const Scalar& a, const Scalar& b);
Scalar Minimum(const Scalar& a, const Scalar& b);
Scalar Quotient(const Scalar& a, const Scalar& b);
Scalar Remainder(const Scalar& a, const Scalar& b);
Scalar Abs(const Scalar& x);
Scalar PowerOfTwoFrom(const Scalar& x);
Scalar ToInt32(const Scalar& x);
Scalar Exp(const Scalar& x);
Scalar Log(const Scalar& x);
Scalar LogOnePlus(const Scalar& x);
Scalar Sqrt(const Scalar& x);
Scalar Sin(const Scalar& x);
Scalar Cos(const Scalar& x);
Scalar Tanh(const Scalar& x);
Scalar Erf(const Scalar& x);
Scalar Pow(const Scalar& x, const Scalar& y);

bool IsComparison(Primitive primitive);

// Every node once, operands before their users. A call of a function is one node.
std::vector<Scalar> NodesOf(const Scalar& value);

// The value with variables replaced. If the condition of a choice becomes a number, the choice is replaced by its
// result.
Scalar Substitute(const Scalar& value, const std::map<std::string, Scalar>& variables);

// The value with the bodies of functions in place of their calls.
Scalar WithoutCalls(const Scalar& value);

// The value without calls, and without what its numbers decide: 0 + x is x, 0 x and 0 / (1 + |x|) are 0, and where both
// choices are x, so is the choice. It has the
// same values wherever all variables, and what is computed of them, are finite and not NaN.
Scalar Simplified(const Scalar& value);

// The gradients of a loss by each of `parameters`, from `dy`, the gradient by `value`; nullopt where it does not depend
// on one. They are computed by reverse accumulation: a node's gradient is the sum over its uses. The gradient of a
// choice is a choice too, so that the operand that is not chosen has no influence, even if it is infinite or a NaN.
// Where a maximum has two equal operands its gradient goes to the first.
std::vector<std::optional<Scalar>> GradientsOf(const Scalar& value, absl::Span<const std::string> parameters,
                                               const Scalar& dy);

// The gradients of a function by its parameters, written in these, Dy() and Result(): as given, or as they follow from
// its value.
std::vector<std::optional<Scalar>> GradientsOf(const ScalarFunction& function);

// The number of arithmetic operations of one value. Shared nodes count once: 1 for + - * /, quotients, remainders and a
// choice between two values, 4 for a square root, 10 for exp, log and tanh, 18 for log(1 + t), 20 for sin, cos, erf and
// pow. Signs, comparisons (which are part of a choice), and nodes of numbers only count 0. A function has at least one
// operation, because its value is written.
double FlopsOf(const Scalar& value);
double FlopsOf(const ScalarFunction& function);

// Whether f(a + b) = f(a) + f(b) for `variables` taken together while all others are constant, as far as the tree shows
// it.
bool IsLinear(const Scalar& value, const std::set<std::string>& variables);

// A value as text: "div(1.0, sub(1.0, pow(0.9, step)))". A shared node is written each time that it is used. REQUIRES:
// it has no calls of functions, no kLogOnePlus, no kQuotient and no kRemainder.
std::string ScalarText(const Scalar& value);

// The value that a ScalarText stands for; nullopt for any other text.
std::optional<Scalar> ParseScalar(absl::string_view text);

// A value prepared for being computed, in double, for many arguments.
class Calculation {
 public:
  // `parameters`: the order of the arguments. REQUIRES: every variable of the value is among them.
  Calculation(const Scalar& value, absl::Span<const std::string> parameters);

  double operator()(absl::Span<const double> arguments);

 private:
  struct Step {
    Primitive primitive;
    double number = 0;           // Of a kNumber.
    size_t argument = 0;         // Of a kVariable.
    std::vector<size_t> places;  // Of the operands' values.
  };
  std::vector<Step> steps_;
  std::vector<double> values_;
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_SCALAR_SCALAR_H_
