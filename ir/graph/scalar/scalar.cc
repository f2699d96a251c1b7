#include "ir/graph/scalar/scalar.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check/check.h"

namespace cleave::ir {
namespace {

void AddNodes(const Scalar& value, std::set<Scalar::Key>& seen, std::vector<Scalar>& nodes) {
  if (!seen.insert(value.key()).second) return;
  for (const Scalar& operand : value.operands()) AddNodes(operand, seen, nodes);
  nodes.push_back(value);
}

double OperationsOf(const Scalar& node) {
  switch (node.primitive()) {
    case Primitive::kVariable:
    case Primitive::kNumber:
    case Primitive::kNegate:
    case Primitive::kEqual:
    case Primitive::kNotEqual:
    case Primitive::kLess:
    case Primitive::kLessEqual:
    case Primitive::kGreater:
    case Primitive::kGreaterEqual:
    case Primitive::kAbs:
      return 0;
    case Primitive::kAdd:
    case Primitive::kSubtract:
    case Primitive::kMultiply:
    case Primitive::kDivide:
    case Primitive::kSelect:
    case Primitive::kMaximum:
    case Primitive::kMinimum:
    case Primitive::kQuotient:
    case Primitive::kRemainder:
    case Primitive::kPowerOfTwo:
    case Primitive::kToInt32:
      return 1;
    case Primitive::kSqrt:
      return 4;
    case Primitive::kExp:
    case Primitive::kLog:
    case Primitive::kTanh:
      return 10;
    case Primitive::kLogOnePlus:
      return 18;
    case Primitive::kSin:
    case Primitive::kCos:
    case Primitive::kErf:
    case Primitive::kPow:
      return 20;
    case Primitive::kCall:
      return FlopsOf(node.function());
  }
  CLEAVE_CHECK(false) << "no such primitive";
}

}  // namespace

Scalar::Scalar(double number)
    : node_(std::make_shared<const Node>(Node{.primitive = Primitive::kNumber, .number = number})) {}

Scalar::Scalar(Primitive primitive, std::vector<Scalar> operands)
    : node_(std::make_shared<const Node>(Node{.primitive = primitive, .operands = std::move(operands)})) {}

const ScalarFunction& Scalar::function() const {
  CLEAVE_CHECK(node_->function != nullptr) << "not a call";
  return *node_->function;
}

Scalar Variable(std::string name) {
  return Scalar(
      std::make_shared<const Scalar::Node>(Scalar::Node{.primitive = Primitive::kVariable, .name = std::move(name)}));
}

Scalar NamedNumber(std::string name, double number) {
  return Scalar(std::make_shared<const Scalar::Node>(
      Scalar::Node{.primitive = Primitive::kNumber, .number = number, .name = std::move(name)}));
}

Scalar Call(ScalarFunction function, std::vector<Scalar> arguments) {
  CLEAVE_CHECK(arguments.size() == function.parameters.size()) << "`" << function.name << "` has other parameters";
  return Scalar(std::make_shared<const Scalar::Node>(
      Scalar::Node{.primitive = Primitive::kCall,
                   .operands = std::move(arguments),
                   .function = std::make_shared<const ScalarFunction>(std::move(function))}));
}

// No parameter has such a name.
Scalar Dy() { return Variable("(dy)"); }
Scalar Result() { return Variable("(result)"); }

Scalar operator+(const Scalar& a, const Scalar& b) { return {Primitive::kAdd, {a, b}}; }
Scalar operator-(const Scalar& a, const Scalar& b) { return {Primitive::kSubtract, {a, b}}; }
Scalar operator*(const Scalar& a, const Scalar& b) { return {Primitive::kMultiply, {a, b}}; }
Scalar operator/(const Scalar& a, const Scalar& b) { return {Primitive::kDivide, {a, b}}; }
Scalar operator-(const Scalar& a) { return {Primitive::kNegate, {a}}; }
Scalar operator<(const Scalar& a, const Scalar& b) { return {Primitive::kLess, {a, b}}; }
Scalar operator<=(const Scalar& a, const Scalar& b) { return {Primitive::kLessEqual, {a, b}}; }
Scalar operator>(const Scalar& a, const Scalar& b) { return {Primitive::kGreater, {a, b}}; }
Scalar operator>=(const Scalar& a, const Scalar& b) { return {Primitive::kGreaterEqual, {a, b}}; }
Scalar Equal(const Scalar& a, const Scalar& b) { return {Primitive::kEqual, {a, b}}; }
Scalar NotEqual(const Scalar& a, const Scalar& b) { return {Primitive::kNotEqual, {a, b}}; }
Scalar Select(const Scalar& condition, const Scalar& a, const Scalar& b) {
  return {Primitive::kSelect, {condition, a, b}};
}
Scalar Maximum(const Scalar& a, const Scalar& b) { return {Primitive::kMaximum, {a, b}}; }
Scalar Minimum(const Scalar& a, const Scalar& b) { return {Primitive::kMinimum, {a, b}}; }
Scalar Quotient(const Scalar& a, const Scalar& b) { return {Primitive::kQuotient, {a, b}}; }
Scalar Remainder(const Scalar& a, const Scalar& b) { return {Primitive::kRemainder, {a, b}}; }
Scalar Abs(const Scalar& x) { return {Primitive::kAbs, {x}}; }
Scalar PowerOfTwoFrom(const Scalar& x) { return {Primitive::kPowerOfTwo, {x}}; }
Scalar ToInt32(const Scalar& x) { return {Primitive::kToInt32, {x}}; }
Scalar Exp(const Scalar& x) { return {Primitive::kExp, {x}}; }
Scalar Log(const Scalar& x) { return {Primitive::kLog, {x}}; }
Scalar LogOnePlus(const Scalar& x) { return {Primitive::kLogOnePlus, {x}}; }
Scalar Sqrt(const Scalar& x) { return {Primitive::kSqrt, {x}}; }
Scalar Sin(const Scalar& x) { return {Primitive::kSin, {x}}; }
Scalar Cos(const Scalar& x) { return {Primitive::kCos, {x}}; }
Scalar Tanh(const Scalar& x) { return {Primitive::kTanh, {x}}; }
Scalar Erf(const Scalar& x) { return {Primitive::kErf, {x}}; }
Scalar Pow(const Scalar& x, const Scalar& y) { return {Primitive::kPow, {x, y}}; }

bool IsComparison(Primitive primitive) {
  return primitive >= Primitive::kEqual && primitive <= Primitive::kGreaterEqual;
}

std::vector<Scalar> NodesOf(const Scalar& value) {
  std::set<Scalar::Key> seen;
  std::vector<Scalar> nodes;
  AddNodes(value, seen, nodes);
  return nodes;
}

namespace {

// A copy of `value` in which `Replace(node, new operands)` takes the place of each node.
template <typename Replace>
Scalar Rebuild(const Scalar& value, Replace replace) {
  std::map<Scalar::Key, Scalar> rebuilt;
  for (const Scalar& node : NodesOf(value)) {
    std::vector<Scalar> operands;
    bool is_same = true;
    for (const Scalar& operand : node.operands()) {
      operands.push_back(rebuilt.at(operand.key()));
      is_same = is_same && operands.back().key() == operand.key();
    }
    rebuilt.emplace(node.key(), replace(node, std::move(operands), is_same));
  }
  return rebuilt.at(value.key());
}

Scalar WithOperands(const Scalar& node, std::vector<Scalar> operands) {
  if (node.Is(Primitive::kCall)) return Call(node.function(), std::move(operands));
  return {node.primitive(), std::move(operands)};
}

}  // namespace

Scalar Substitute(const Scalar& value, const std::map<std::string, Scalar>& variables) {
  return Rebuild(value, [&](const Scalar& node, std::vector<Scalar> operands, bool is_same) -> Scalar {
    if (node.Is(Primitive::kVariable)) {
      const auto found = variables.find(node.variable());
      return found == variables.end() ? node : found->second;
    }
    if (node.Is(Primitive::kSelect) && operands[0].Is(Primitive::kNumber)) {
      return operands[0].number() != 0 ? operands[1] : operands[2];
    }
    return is_same ? node : WithOperands(node, std::move(operands));
  });
}

Scalar WithoutCalls(const Scalar& value) {
  return Rebuild(value, [](const Scalar& node, std::vector<Scalar> operands, bool is_same) -> Scalar {
    if (!node.Is(Primitive::kCall)) return is_same ? node : WithOperands(node, std::move(operands));
    std::map<std::string, Scalar> arguments;
    for (size_t i = 0; i < operands.size(); ++i) arguments.emplace(node.function().parameters[i], operands[i]);
    return Substitute(WithoutCalls(node.function().value), arguments);
  });
}

double FlopsOf(const Scalar& value) {
  double flops = 0;
  std::set<Scalar::Key> of_numbers;
  for (const Scalar& node : NodesOf(value)) {
    const bool is_constant =
        !node.Is(Primitive::kVariable) && std::all_of(node.operands().begin(), node.operands().end(),
                                                      [&](const Scalar& o) { return of_numbers.count(o.key()) > 0; });
    if (is_constant) {
      of_numbers.insert(node.key());
    } else {
      flops += OperationsOf(node);
    }
  }
  return flops;
}

double FlopsOf(const ScalarFunction& function) {
  return function.flops.has_value() ? *function.flops : std::max(FlopsOf(function.value), 1.0);
}

}  // namespace cleave::ir
