#include "search/cost/classic.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

// A matmul of [256, 784] and [512, 784], the second transposed.
Rule FirstLayer() {
  Rule rule;
  rule.factors = {{.name = "i", .kind = FactorKind::kParallel, .size = 256},
                  {.name = "j", .kind = FactorKind::kParallel, .size = 512},
                  {.name = "k", .kind = FactorKind::kReduced, .size = 784}};
  rule.inputs = {{{0}, {2}}, {{1}, {2}}};
  rule.output = {{0}, {1}};
  return rule;
}

TEST(ClassicFactorCostTest, ShrinksLevelByLevelAsPublished) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Rule rule = FirstLayer();
  Strategy strategy = Strategy::Replicated(rule);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 0), 20070.4, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 1), 100352, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 2), 65536, 1e-6);
  strategy.cuts[0] = {AxisId(0), AxisId(1)};
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 1), 25088, 1e-6);
  EXPECT_NEAR(ClassicFactorCost(rule, strategy, mesh, 2), 16384, 1e-6);
}

TEST(ClassicAllowsTest, ColumnsAndTheContractedDimensionExcludeEachOther) {
  const Rule rule = FirstLayer();
  Strategy strategy = Strategy::Replicated(rule);
  strategy.cuts[1] = {AxisId(0)};
  EXPECT_FALSE(ClassicAllows(rule, strategy, 2));
  EXPECT_TRUE(ClassicAllows(rule, strategy, 0));
  EXPECT_TRUE(ClassicAllows(rule, strategy, 1));
}

}  // namespace
}  // namespace cleave
