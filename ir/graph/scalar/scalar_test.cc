#include "ir/graph/scalar/scalar.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::string> kParameters = {"x", "y"};

double ValueAt(const Scalar& value, double x, double y = 0) {
  return Calculation(value, kParameters)(std::vector<double>{x, y});
}

Scalar DerivativeByX(const Scalar& value) { return GradientsOf(value, kParameters, 1)[0].value_or(0); }

ScalarFunction SigmoidFunction() {
  return {.name = "sigmoid",
          .parameters = {"t"},
          .value = 1 / (1 + Exp(-Variable("t"))),
          .gradients = {Dy() * Result() * (1 - Result())}};
}

// One tree for every primitive, with a derivative by x at the points below.
std::vector<Scalar> Trees() {
  const Scalar x = Variable("x"), y = Variable("y");
  return {x + y,
          x - y * x,
          x * y * x,
          x / y + y / x,
          -x,
          Select(x < y, x * x, y * x),
          Select(x <= y, x, -x),
          Select(x > y, x * y, x),
          Select(x >= y, Exp(x), x),
          Select(Equal(x, y), x, 2 * x),
          Select(NotEqual(x, y), x, 2 * x),
          Maximum(x * y, x),
          Minimum(x * x, y),
          Abs(x * y),
          ToInt32(x) * x,
          Exp(x * y),
          Log(x * x),
          LogOnePlus(Exp(-x * x)),
          Sqrt(x * x + 1),
          Sin(x) * Cos(x * y),
          Tanh(x - y),
          Erf(x),
          Pow(x * x, y),
          Pow(2, x),
          Pow(x, 3),
          x * Call(SigmoidFunction(), {x * y})};
}

TEST(Scalar, DerivativesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-6;
  for (const Scalar& value : Trees()) {
    const Scalar derivative = DerivativeByX(value);
    for (const double x : {-1.7, -0.3, 0.4, 1.25}) {
      const double expected = (ValueAt(value, x + kStep, 0.7) - ValueAt(value, x - kStep, 0.7)) / (2 * kStep);
      EXPECT_NEAR(ValueAt(derivative, x, 0.7), expected, 1e-7 * (1 + std::abs(expected)))
          << "primitive " << static_cast<int>(value.primitive()) << " at " << x;
    }
  }
}

TEST(Scalar, WhatIsNotANumberStaysSo) {
  for (const Scalar& value : Trees()) {
    if (value.Is(Primitive::kSelect) || value.Is(Primitive::kMinimum)) continue;
    EXPECT_TRUE(std::isnan(ValueAt(value, kNan, 0.7))) << "primitive " << static_cast<int>(value.primitive());
  }
  const Scalar x = Variable("x"), y = Variable("y");
  for (const Scalar& value : {Maximum(x, y), Minimum(x, y)}) {
    EXPECT_TRUE(std::isnan(ValueAt(value, kNan, 1)));
    EXPECT_TRUE(std::isnan(ValueAt(value, 1, kNan)));
  }
}

// The operand that is not chosen has no influence on the gradient: e^1000 is infinite.
TEST(Scalar, AChoiceHidesWhatItDoesNotTake) {
  const Scalar x = Variable("x");
  const Scalar elu = Select(x > 0, x, Exp(x) - 1);
  EXPECT_EQ(ValueAt(DerivativeByX(elu), 1000), 1);
  EXPECT_EQ(ValueAt(DerivativeByX(elu), -kInfinity), 0);
  EXPECT_EQ(ValueAt(DerivativeByX(Minimum(Exp(x), 7)), 1000), 0);
  EXPECT_EQ(ValueAt(DerivativeByX(Maximum(x, Variable("y"))), 2, 2), 1);
}

// Ranks may have added up the result in another order than the operands.
TEST(Scalar, GradientsOfAnExtremeDoNotSpeakOfTheResult) {
  const Scalar x = Variable("x"), y = Variable("y");
  for (const Scalar& value : {Maximum(x, y), Minimum(x, y), Maximum(2 * x, y + 1)}) {
    for (const auto& by : GradientsOf(ScalarFunction{.name = "f", .parameters = {"x", "y"}, .value = value})) {
      ASSERT_TRUE(by.has_value());
      for (const Scalar& node : NodesOf(*by)) {
        if (node.Is(Primitive::kVariable)) EXPECT_NE(node.variable(), Result().variable());
      }
    }
  }
}

TEST(Scalar, GradientsSpeakOfTheResult) {
  const Scalar x = Variable("x");
  const std::vector<std::optional<Scalar>> by =
      GradientsOf(ScalarFunction{.name = "f", .parameters = {"x", "y"}, .value = Exp(x)});
  ASSERT_EQ(by.size(), 2u);
  EXPECT_FALSE(by[1].has_value());
  const std::vector<Scalar>& of = by[0]->operands();
  EXPECT_TRUE(by[0]->Is(Primitive::kMultiply));
  EXPECT_EQ(of[0].variable(), Dy().variable());
  EXPECT_EQ(of[1].variable(), Result().variable());
}

TEST(Scalar, SubstitutionMakesChoices) {
  const Scalar x = Variable("x"), y = Variable("y");
  const Scalar value = Select(y, x * x, x + y);
  const Scalar product = Substitute(value, {{"y", 1}});
  EXPECT_TRUE(product.Is(Primitive::kMultiply));
  EXPECT_EQ(product.operands()[0].key(), product.operands()[1].key());
  EXPECT_EQ(ValueAt(Substitute(value, {{"y", 0}}), 5), 5);
  EXPECT_EQ(Substitute(value, {{"z", 1}}).key(), value.key());
}

TEST(Scalar, SharedNodesCountOnce) {
  const Scalar x = Variable("x"), y = Variable("y");
  const Scalar square = x * x;
  EXPECT_EQ(NodesOf(square * square).size(), 3u);
  EXPECT_EQ(FlopsOf(square * square), 2);
  EXPECT_EQ(FlopsOf(Scalar(3) * 4 * x), 1);
  EXPECT_EQ(FlopsOf(Select(x < y, -x, Abs(y))), 1);
  EXPECT_EQ(FlopsOf(SigmoidFunction()), 12);
  EXPECT_EQ(FlopsOf(x * Call(SigmoidFunction(), {x})), 13);
  EXPECT_EQ(FlopsOf(ScalarFunction{.name = "f", .parameters = {"x"}, .value = -x}), 1);
  EXPECT_EQ(FlopsOf(ScalarFunction{.name = "f", .parameters = {"x"}, .value = -x, .gradients = {}, .flops = 7}), 7);
}

TEST(Scalar, LinearWhereSumsPass) {
  const Scalar x = Variable("x"), y = Variable("y"), z = Variable("z");
  EXPECT_TRUE(IsLinear(x + y, {"x", "y"}));
  EXPECT_FALSE(IsLinear(x + y, {"x"}));
  EXPECT_TRUE(IsLinear(x * y, {"y"}));
  EXPECT_FALSE(IsLinear(x * y, {"x", "y"}));
  EXPECT_TRUE(IsLinear(x / y, {"x"}));
  EXPECT_FALSE(IsLinear(x / y, {"y"}));
  EXPECT_TRUE(IsLinear(Select(z, x, -y), {"x", "y"}));
  EXPECT_TRUE(IsLinear(Select(z > 0, x, 0), {"x"}));
  EXPECT_FALSE(IsLinear(Select(z, x, y), {"x"}));
  EXPECT_FALSE(IsLinear(Select(x, x, 0), {"x"}));
  EXPECT_FALSE(IsLinear(Maximum(x, 0), {"x"}));
  EXPECT_FALSE(IsLinear(x + 1, {"x"}));
  EXPECT_TRUE(IsLinear(x * Exp(y), {"x"}));
  EXPECT_FALSE(IsLinear(Scalar(0), {"x"}));
  EXPECT_FALSE(IsLinear(Call(SigmoidFunction(), {x}), {"x"}));
}

TEST(ScalarDeathTest, ChecksArguments) {
  EXPECT_DEATH(Call(SigmoidFunction(), {}), "`sigmoid` has other parameters");
  EXPECT_DEATH(ValueAt(Variable("z"), 1), "`z` is no parameter");
}

// What a parameter and the state of an optimizer become where the gradient is zero.
TEST(ScalarTest, SimplifiesWhatNumbersDecide) {
  const Scalar p = Variable("p"), s = Variable("s"), rate = Variable("rate");
  const Scalar zero = 0.0;
  const auto same = [](const Scalar& value, const Scalar& expected) {
    return ScalarText(Simplified(value)) == ScalarText(expected);
  };
  EXPECT_TRUE(same(p - zero * rate, p));
  EXPECT_TRUE(same(s + zero * zero, s));
  EXPECT_TRUE(same(p - zero / (Sqrt(s + zero * zero) + 1e-10) * rate, p));
  EXPECT_TRUE(same(p + Select(zero < Scalar(1.0), zero, p), p));
  EXPECT_TRUE(same(1.0 * p / 1.0, p));
  EXPECT_TRUE(same(Maximum(zero, -1.0), 0.0));
  // Where the divisor may be zero, nothing is known.
  EXPECT_FALSE(same(zero / Sqrt(s), 0.0));
  EXPECT_FALSE(same(zero / p, 0.0));
  // Momentum and weight decay change what has no gradient.
  EXPECT_FALSE(same(0.9 * s + zero, s));
  EXPECT_FALSE(same(p - (zero + 0.01 * p) * rate, p));
}

}  // namespace
}  // namespace cleave::ir
