#include "search/price/cost/classic.h"

#include "gtest/gtest.h"

namespace cleave::search {
namespace {

// A matmul of [256, 784] and [512, 784], the second transposed.
ir::Rule FirstLayer() {
  ir::Rule rule;
  rule.factors = {{.name = "i", .kind = ir::FactorKind::kParallel, .size = 256},
                  {.name = "j", .kind = ir::FactorKind::kParallel, .size = 512},
                  {.name = "k", .kind = ir::FactorKind::kReduced, .size = 784}};
  rule.inputs = {{{0}, {2}}, {{1}, {2}}};
  rule.output = {{0}, {1}};
  return rule;
}

TEST(ClassicFactorCostTest, ShrinksLevelByLevelAsPublished) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(8);
  const ir::Rule rule = FirstLayer();
  ir::Strategy strategy = ir::Strategy::Replicated(rule);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 0), 20070.4, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 1), 100352, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 2), 65536, 1e-6);
  strategy.cuts[0] = {ir::AxisId(0), ir::AxisId(1)};
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 1), 25088, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 2), 16384, 1e-6);
}

// A convolution of [8, 3, 15, 28] images with 32 filters of 3x3, stride 2 along the rows.
TEST(ClassicFactorCostTest, ImagesOfAConvolutionAreTheLeftSide) {
  ir::Rule rule;
  rule.factors = {{.name = "n", .size = 8},
                  {.name = "o", .size = 32},
                  {.name = "c", .kind = ir::FactorKind::kReduced, .size = 3},
                  {.name = "h", .size = 7},
                  {.name = "w", .size = 26},
                  {.name = "kh", .kind = ir::FactorKind::kWhole, .size = 3},
                  {.name = "kw", .kind = ir::FactorKind::kWhole, .size = 3}};
  rule.inputs = {{{0}, {2}, {3}, {4}}, {{1}, {2}, {5}, {6}}};
  rule.output = {{0}, {1}, {3}, {4}};
  rule.windows = {{0, 2, {.elements = 15, .outer = 7, .numerator = 2, .last = 2}},
                  {0, 3, {.elements = 28, .outer = 26, .last = 2}}};
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  const ir::Strategy strategy = ir::Strategy::Replicated(rule);
  for (const int row : {0, 3, 4}) EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, row), 0.1 * 32 * 27 / 2, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 1), 8 * 3 * 15 * 28 / 2, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 2), 8 * 32 * 7 * 26 / 2, 1e-6);
}

TEST(ClassicAllowsTest, ColumnsAndTheContractedDimensionExcludeEachOther) {
  const ir::Rule rule = FirstLayer();
  ir::Strategy strategy = ir::Strategy::Replicated(rule);
  strategy.cuts[1] = {ir::AxisId(0)};
  EXPECT_FALSE(ClassicAllows(rule, strategy, 2));
  EXPECT_TRUE(ClassicAllows(rule, strategy, 0));
  EXPECT_TRUE(ClassicAllows(rule, strategy, 1));
}

}  // namespace
}  // namespace cleave::search
