#include "search/solve/exact/relaxed.h"

#include <random>

#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/testing/meshes.h"

namespace cleave::search {
namespace {

// Each axis in a random dimension, partial, or nowhere.
ir::Layout RandomLayout(const ir::Mesh& mesh, int rank, bool partial, std::mt19937& random) {
  ir::Layout layout = ir::Layout::Replicated(rank);
  for (ir::AxisId axis : mesh.AxisIds()) {
    const int place = static_cast<int>(random() % static_cast<unsigned>(rank + 2));
    if (place < rank) layout.dimensions[static_cast<size_t>(place)].push_back(axis);
    if (place == rank && partial) layout.partial.push_back({.axis = axis, .reduction = ir::Reduction::kSum});
  }
  for (ir::AxisList& axes : layout.dimensions) std::shuffle(axes.begin(), axes.end(), random);
  return layout;
}

TEST(RelaxedPricesTest, NoWayCostsLess) {
  for (const ir::Mesh& mesh :
       {ir::MeshOf({2, 2, 2}), ir::MeshOf({2, 2}, {1, 0.1}), ir::MeshOf({3, 2, 2}, {1, 1, 0.25})}) {
    RelaxedPrices prices(mesh);
    std::mt19937 random(7);
    int met = 0;
    constexpr int kPairs = 400;
    for (int pair = 0; pair < kPairs; ++pair) {
      const int rank = 1 + pair % 3;
      const ir::TensorType type{ir::DType::kF32, ir::Shape(static_cast<size_t>(rank), 144)};
      const ir::Layout source = RandomLayout(mesh, rank, true, random),
                       target = RandomLayout(mesh, rank, false, random);
      const double least =
          prices.AtLeast(CanonicalLayout(prices.classes(), source), CanonicalLayout(prices.classes(), target)) *
          static_cast<double>(type.bytes().value());
      const double cost = ir::PlanRedistribution(mesh, type, source, target)->cost;
      EXPECT_LE(least, cost * (1 + 1e-9) + 1e-9)
          << ir::LayoutText(source, mesh) << " to " << ir::LayoutText(target, mesh);
      met += cost <= least * (1 + 1e-9) + 1e-9 ? 1 : 0;
    }
    EXPECT_GT(met, kPairs / 4);  // Zero would be a lower bound too, but a useless one.
  }
}

TEST(RelaxedPricesTest, UnevenPiecesCostMoreThanTheMean) {
  const ir::Mesh mesh = ir::MeshOf({2, 2});
  RelaxedPrices prices(mesh);
  const ir::TensorType type{ir::DType::kF32, {7}};
  ir::Layout cut = ir::Layout::Replicated(1);
  cut.dimensions[0] = {ir::AxisId(0), ir::AxisId(1)};
  const double least = prices.AtLeast(cut, ir::Layout::Replicated(1)) * static_cast<double>(type.bytes().value());
  EXPECT_DOUBLE_EQ(least, 0.75 * 28);
  EXPECT_GE(ir::PlanRedistribution(mesh, type, cut, ir::Layout::Replicated(1))->cost, least);
}

TEST(CanonicalLayoutTest, LayoutsOfEqualCountsAreOne) {
  const ir::Mesh mesh = ir::MeshOf({2, 2, 2}, {1, 1, 0.1});
  const std::vector<AxisClass> classes = AxisClassesOf(mesh);
  ASSERT_EQ(classes.size(), 2u);
  ir::Layout a = ir::Layout::Replicated(2), b = a, c = a;
  a.dimensions = {{ir::AxisId(1), ir::AxisId(2)}, {ir::AxisId(0)}};
  b.dimensions = {{ir::AxisId(2), ir::AxisId(0)}, {ir::AxisId(1)}};
  c.dimensions = {{ir::AxisId(0)}, {ir::AxisId(1), ir::AxisId(2)}};
  EXPECT_EQ(CanonicalLayout(classes, a), CanonicalLayout(classes, b));
  EXPECT_NE(CanonicalLayout(classes, a), CanonicalLayout(classes, c));
}

}  // namespace
}  // namespace cleave::search
