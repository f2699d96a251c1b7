// Tests the differences that the stand-in for a body must show, so that the simulated proof is meaningful.
// rule_law_test and gradient_test test for the whole table that it follows its rule.
#include "ir/graph/ops/custom_reference.h"

#include <cmath>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

// y[n] = f(x[n, k]) summed over k, where j of w[n, j] is whole.
Rule TestRule(std::vector<std::vector<int>> linear = {}) {
  return Rule{.factors = {{.name = "n", .size = 3},
                          {.name = "k", .kind = FactorKind::kReduced, .size = 2},
                          {.name = "j", .kind = FactorKind::kWhole, .size = 2}},
              .inputs = {{{0}, {1}}, {{0}, {2}}},
              .output = {{0}},
              .linear = std::move(linear)};
}

Tensor Values(const std::string& name, const Rule& rule, const Tensor& x, const Tensor& w) {
  Tensor y = Zeros({3});
  const std::vector<FactorRange> ranges = WholeRanges(rule);
  const std::vector<const Tensor*> inputs = {&x, &w};
  CustomReference(name, rule, ranges).Forward(inputs, y);
  return y;
}

const Tensor kX = {.shape = {3, 2}, .values = {1, 2, 3, 4, 5, 6}};
const Tensor kW = {.shape = {3, 2}, .values = {-1, 1, 2, -2, 0.5, 0.25}};

Tensor With(Tensor tensor, size_t element, double change) {
  tensor.values[element] += change;
  return tensor;
}

TEST(CustomReferenceTest, EachResultHangsOnWhatItMayReadAndOnNothingElse) {
  const Tensor y = Values("f", TestRule(), kX, kW);
  for (size_t element = 0; element < 6; ++element) {
    const Tensor by_x = Values("f", TestRule(), With(kX, element, 0.5), kW);
    const Tensor by_w = Values("f", TestRule(), kX, With(kW, element, 0.5));
    for (size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(by_x.values[n] != y.values[n], n == element / 2) << n << " by x[" << element << "]";
      EXPECT_EQ(by_w.values[n] != y.values[n], n == element / 2) << n << " by w[" << element << "]";
    }
  }
}

TEST(CustomReferenceTest, EqualElementsInOtherPlacesGiveOtherResults) {
  const Tensor ones = {.shape = {3, 2}, .values = {1, 1, 1, 1, 1, 1}};
  const Tensor y = Values("f", TestRule(), ones, ones);
  EXPECT_NE(y.values[0], y.values[1]);
  EXPECT_NE(y.values[1], y.values[2]);
}

TEST(CustomReferenceTest, OpsOfOtherNamesAreOtherFunctions) {
  EXPECT_EQ(Values("f", TestRule(), kX, kW), Values("f", TestRule(), kX, kW));
  EXPECT_NE(Values("f", TestRule(), kX, kW), Values("g", TestRule(), kX, kW));
}

TEST(CustomReferenceTest, IsLinearOnlyWhereDeclared) {
  const auto is_linear_in_x = [](const Rule& rule) {
    Tensor twice = kX;
    for (double& value : twice.values) value *= 2;
    const Tensor y = Values("f", rule, kX, kW);
    const Tensor of_twice = Values("f", rule, twice, kW);
    bool linear = true;
    for (size_t n = 0; n < 3; ++n) linear = linear && std::abs(of_twice.values[n] - 2 * y.values[n]) < 1e-9;
    return linear;
  };
  EXPECT_TRUE(is_linear_in_x(TestRule({{0}})));
  EXPECT_FALSE(is_linear_in_x(TestRule({{1}})));
  EXPECT_FALSE(is_linear_in_x(TestRule()));
  // Linear in both together is not linear in one alone.
  EXPECT_FALSE(is_linear_in_x(TestRule({{0, 1}})));
}

}  // namespace
}  // namespace cleave::ir
