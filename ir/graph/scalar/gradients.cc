#include <utility>

#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

constexpr double kTwoOverSqrtPi = 1.1283791670955126;

using GradientOfVariable = std::map<std::string, Scalar>;

// A product with the gradient that is passed down, which is 1 when a derivative is computed.
Scalar Times(const Scalar& gradient, const Scalar& factor) { return gradient.IsNumber(1) ? factor : gradient * factor; }

Scalar OneLess(const Scalar& x) { return x.Is(Primitive::kNumber) ? Scalar(x.number() - 1) : x - 1; }

class ReverseAccumulation {
 public:
  // `result`: the node that stands for the value itself in the gradients.
  ReverseAccumulation(const Scalar& value, const Scalar& dy, const Scalar& result) : value_(value), result_(result) {
    gradients_.emplace(value.key(), dy);
  }

  GradientOfVariable Run() && {
    const std::vector<Scalar> nodes = NodesOf(value_);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const auto found = gradients_.find(node->key());
      if (found != gradients_.end()) HandDown(*node, found->second);
    }
    return std::move(of_variable_);
  }

 private:
  template <typename Map, typename KeyOf>
  static void AddTo(Map& sums, const KeyOf& key, const Scalar& gradient) {
    const auto [place, is_first] = sums.emplace(key, gradient);
    if (!is_first) place->second = place->second + gradient;
  }

  void AddTo(const Scalar& operand, const Scalar& gradient) { AddTo(gradients_, operand.key(), gradient); }

  void HandDown(const Scalar& node, const Scalar& dy) {
    const std::vector<Scalar>& of = node.operands();
    const Scalar& y = node.key() == value_.key() ? result_ : node;
    switch (node.primitive()) {
      case Primitive::kVariable:
        return AddTo(of_variable_, node.variable(), dy);
      case Primitive::kNumber:
      case Primitive::kEqual:
      case Primitive::kNotEqual:
      case Primitive::kLess:
      case Primitive::kLessEqual:
      case Primitive::kGreater:
      case Primitive::kGreaterEqual:
      case Primitive::kQuotient:
      case Primitive::kRemainder:
      case Primitive::kPowerOfTwo:
      case Primitive::kToInt32:
        return;
      case Primitive::kAdd:
        AddTo(of[0], dy);
        return AddTo(of[1], dy);
      case Primitive::kSubtract:
        AddTo(of[0], dy);
        return AddTo(of[1], -dy);
      case Primitive::kMultiply:
        AddTo(of[0], Times(dy, of[1]));
        return AddTo(of[1], Times(dy, of[0]));
      case Primitive::kDivide: {
        const Scalar share = dy / of[1];
        AddTo(of[0], share);
        return AddTo(of[1], -(share * y));
      }
      case Primitive::kNegate:
        return AddTo(of[0], -dy);
      case Primitive::kSelect:
        return Choose(of[0], of[1], of[2], dy);
      // The operands are compared with each other, not with the value: what was added up in another order may differ
      // from both in the last bits.
      case Primitive::kMaximum:
        return Choose(of[0] >= of[1], of[0], of[1], dy);
      case Primitive::kMinimum:
        return Choose(of[0] <= of[1], of[0], of[1], dy);
      case Primitive::kAbs:
        return AddTo(of[0], Select(of[0] > 0, dy, Select(of[0] < 0, -dy, 0)));
      case Primitive::kExp:
        return AddTo(of[0], Times(dy, y));
      case Primitive::kLog:
        return AddTo(of[0], dy / of[0]);
      case Primitive::kLogOnePlus:
        return AddTo(of[0], dy / (1 + of[0]));
      case Primitive::kSqrt:
        return AddTo(of[0], 0.5 * (dy / y));
      case Primitive::kSin:
        return AddTo(of[0], Times(dy, Cos(of[0])));
      case Primitive::kCos:
        return AddTo(of[0], -Times(dy, Sin(of[0])));
      case Primitive::kTanh:
        return AddTo(of[0], Times(dy, 1 - y * y));
      case Primitive::kErf:
        return AddTo(of[0], Times(dy, kTwoOverSqrtPi * Exp(-(of[0] * of[0]))));
      case Primitive::kPow:
        // The gradient by the exponent is 0 where the base is not positive.
        AddTo(of[0], Times(dy, of[1] * Pow(of[0], OneLess(of[1]))));
        return AddTo(of[1], Times(dy, y * Log(Select(of[0] > 0, of[0], 1))));
      case Primitive::kCall:
        return HandToArguments(node, y, dy);
    }
  }

  // Computes the gradients of both operands down to the variables, and then the choice between them.
  void Choose(const Scalar& condition, const Scalar& a, const Scalar& b, const Scalar& dy) {
    const GradientOfVariable by_a = ReverseAccumulation(a, dy, a).Run();
    const GradientOfVariable by_b = ReverseAccumulation(b, dy, b).Run();
    for (const auto& [variable, gradient] : by_a) {
      const auto other = by_b.find(variable);
      AddTo(of_variable_, variable, Select(condition, gradient, other == by_b.end() ? Scalar(0) : other->second));
    }
    for (const auto& [variable, gradient] : by_b) {
      if (by_a.count(variable) == 0) AddTo(of_variable_, variable, Select(condition, 0, gradient));
    }
  }

  void HandToArguments(const Scalar& call, const Scalar& y, const Scalar& dy) {
    const ScalarFunction& function = call.function();
    std::map<std::string, Scalar> values = {{Dy().variable(), dy}, {Result().variable(), y}};
    for (size_t i = 0; i < call.operands().size(); ++i) values.emplace(function.parameters[i], call.operands()[i]);
    const std::vector<std::optional<Scalar>> gradients = GradientsOf(function);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].has_value()) AddTo(call.operands()[i], Substitute(*gradients[i], values));
    }
  }

  const Scalar& value_;
  const Scalar& result_;
  std::map<Scalar::Key, Scalar> gradients_;  // Of the nodes, as far as they have been added up.
  GradientOfVariable of_variable_;
};

std::vector<std::optional<Scalar>> InOrder(const GradientOfVariable& gradients,
                                           absl::Span<const std::string> parameters) {
  std::vector<std::optional<Scalar>> result;
  for (const std::string& parameter : parameters) {
    const auto found = gradients.find(parameter);
    result.push_back(found == gradients.end() ? std::nullopt : std::make_optional(found->second));
  }
  return result;
}

}  // namespace

std::vector<std::optional<Scalar>> GradientsOf(const Scalar& value, absl::Span<const std::string> parameters,
                                               const Scalar& dy) {
  return InOrder(ReverseAccumulation(value, dy, value).Run(), parameters);
}

std::vector<std::optional<Scalar>> GradientsOf(const ScalarFunction& function) {
  if (function.gradients.empty()) {
    const Scalar& value = function.value;
    const Scalar dy = Dy();
    return InOrder(ReverseAccumulation(value, dy, value.IsLeaf() ? value : Result()).Run(), function.parameters);
  }
  std::vector<std::optional<Scalar>> stated(function.gradients.begin(), function.gradients.end());
  stated.resize(function.parameters.size());
  return stated;
}

}  // namespace cleave::ir
