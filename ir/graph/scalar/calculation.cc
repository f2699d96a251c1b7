#include <algorithm>
#include <cmath>

#include "base/check/check.h"
#include "ir/graph/scalar/scalar.h"

namespace cleave::ir {
namespace {

// Of f32's normal numbers.
double PowerOfTwoFrom(double x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);  // In [0.5, 1) of a positive x.
  if (fraction == 0.5) --exponent;
  return x <= 0 ? std::ldexp(1, -126) : std::ldexp(1, std::clamp(exponent, -126, 127));
}

// The value from those of the operands. Maxima and minima of a NaN are NaN.
double Apply(Primitive primitive, double a, double b, double c) {
  switch (primitive) {
    case Primitive::kAdd:
      return a + b;
    case Primitive::kSubtract:
      return a - b;
    case Primitive::kMultiply:
      return a * b;
    case Primitive::kDivide:
      return a / b;
    case Primitive::kNegate:
      return -a;
    case Primitive::kEqual:
      return a == b ? 1 : 0;
    case Primitive::kNotEqual:
      return a != b ? 1 : 0;
    case Primitive::kLess:
      return a < b ? 1 : 0;
    case Primitive::kLessEqual:
      return a <= b ? 1 : 0;
    case Primitive::kGreater:
      return a > b ? 1 : 0;
    case Primitive::kGreaterEqual:
      return a >= b ? 1 : 0;
    case Primitive::kSelect:
      return a != 0 ? b : c;
    case Primitive::kMaximum:
      return a < b || b != b ? b : a;
    case Primitive::kMinimum:
      return b < a || b != b ? b : a;
    case Primitive::kAbs:
      return std::abs(a);
    case Primitive::kQuotient:
      return b == 0 ? 0 : std::trunc(a / b);
    case Primitive::kRemainder:
      return b == 0 ? 0 : std::fmod(a, b);
    case Primitive::kPowerOfTwo:
      return PowerOfTwoFrom(a);
    case Primitive::kToInt32:
      return std::isnan(a) ? 0 : std::clamp(std::trunc(a), -2147483648.0, 2147483647.0);
    case Primitive::kExp:
      return std::exp(a);
    case Primitive::kLog:
      return std::log(a);
    case Primitive::kLogOnePlus:
      return std::log1p(a);
    case Primitive::kSqrt:
      return std::sqrt(a);
    case Primitive::kSin:
      return std::sin(a);
    case Primitive::kCos:
      return std::cos(a);
    case Primitive::kTanh:
      return std::tanh(a);
    case Primitive::kErf:
      return std::erf(a);
    case Primitive::kPow:
      return std::pow(a, b);
    case Primitive::kVariable:
    case Primitive::kNumber:
    case Primitive::kCall:
      break;
  }
  CLEAVE_CHECK(false) << "not computed from operands";
}

}  // namespace

Calculation::Calculation(const Scalar& value, absl::Span<const std::string> parameters) {
  std::map<Scalar::Key, size_t> places;
  for (const Scalar& node : NodesOf(WithoutCalls(value))) {
    Step step{.primitive = node.primitive(), .places = {}};
    if (node.Is(Primitive::kNumber)) step.number = node.number();
    if (node.Is(Primitive::kVariable)) {
      const auto found = std::find(parameters.begin(), parameters.end(), node.variable());
      CLEAVE_CHECK(found != parameters.end()) << "`" << node.variable() << "` is no parameter";
      step.argument = static_cast<size_t>(found - parameters.begin());
    }
    for (const Scalar& operand : node.operands()) step.places.push_back(places.at(operand.key()));
    places.emplace(node.key(), steps_.size());
    steps_.push_back(std::move(step));
  }
  values_.resize(steps_.size());
}

double Calculation::operator()(absl::Span<const double> arguments) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const auto operand = [&](size_t o) { return o < step.places.size() ? values_[step.places[o]] : 0; };
    if (step.primitive == Primitive::kVariable) {
      values_[i] = arguments[step.argument];
    } else if (step.primitive == Primitive::kNumber) {
      values_[i] = step.number;
    } else {
      values_[i] = Apply(step.primitive, operand(0), operand(1), operand(2));
    }
  }
  return values_.back();
}

}  // namespace cleave::ir
