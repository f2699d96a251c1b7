#include "search/exact/relaxed.h"

#include <random>

#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/testing/meshes.h"

namespace cleave {
namespace {

// Each axis in a random dimension, partial, or nowhere.
Layout RandomLayout(const Mesh& mesh, int rank, bool partial, std::mt19937& random) {
  Layout layout = Layout::Replicated(rank);
  for (AxisId axis : mesh.AxisIds()) {
    const int place = static_cast<int>(random() % static_cast<unsigned>(rank + 2));
    if (place < rank) layout.dimensions[static_cast<size_t>(place)].push_back(axis);
    if (place == rank && partial) layout.partial.push_back({.axis = axis, .reduction = Reduction::kSum});
  }
  for (std::vector<AxisId>& axes : layout.dimensions) std::shuffle(axes.begin(), axes.end(), random);
  return layout;
}

TEST(RelaxedPricesTest, NoWayCostsLess) {
  for (const Mesh& mesh : {MeshOf({2, 2, 2}), MeshOf({2, 2}, {1, 0.1}), MeshOf({3, 2, 2}, {1, 1, 0.25})}) {
    RelaxedPrices prices(mesh);
    std::mt19937 random(7);
    int met = 0;
    constexpr int kPairs = 400;
    for (int pair = 0; pair < kPairs; ++pair) {
      const int rank = 1 + pair % 3;
      const TensorType type{DType::kF32, Shape(static_cast<size_t>(rank), 144)};
      const Layout source = RandomLayout(mesh, rank, true, random), target = RandomLayout(mesh, rank, false, random);
      const double least =
          prices.AtLeast(CanonicalLayout(prices.classes(), source), CanonicalLayout(prices.classes(), target)) *
          static_cast<double>(type.bytes().value());
      const double cost = PlanRedistribution(mesh, type, source, target)->cost;
      EXPECT_LE(least, cost * (1 + 1e-9) + 1e-9) << LayoutText(source, mesh) << " to " << LayoutText(target, mesh);
      met += cost <= least * (1 + 1e-9) + 1e-9 ? 1 : 0;
    }
    EXPECT_GT(met, kPairs / 4);  // A bound of nothing would be one too.
  }
}

TEST(RelaxedPricesTest, UnevenPiecesCostMoreThanTheMean) {
  const Mesh mesh = MeshOf({2, 2});
  RelaxedPrices prices(mesh);
  const TensorType type{DType::kF32, {7}};
  Layout cut = Layout::Replicated(1);
  cut.dimensions[0] = {AxisId(0), AxisId(1)};
  const double least = prices.AtLeast(cut, Layout::Replicated(1)) * static_cast<double>(type.bytes().value());
  EXPECT_DOUBLE_EQ(least, 0.75 * 28);
  EXPECT_GE(PlanRedistribution(mesh, type, cut, Layout::Replicated(1))->cost, least);
}

TEST(CanonicalLayoutTest, LayoutsOfEqualCountsAreOne) {
  const Mesh mesh = MeshOf({2, 2, 2}, {1, 1, 0.1});
  const std::vector<AxisClass> classes = AxisClassesOf(mesh);
  ASSERT_EQ(classes.size(), 2u);
  Layout a = Layout::Replicated(2), b = a, c = a;
  a.dimensions = {{AxisId(1), AxisId(2)}, {AxisId(0)}};
  b.dimensions = {{AxisId(2), AxisId(0)}, {AxisId(1)}};
  c.dimensions = {{AxisId(0)}, {AxisId(1), AxisId(2)}};
  EXPECT_EQ(CanonicalLayout(classes, a), CanonicalLayout(classes, b));
  EXPECT_NE(CanonicalLayout(classes, a), CanonicalLayout(classes, c));
}

}  // namespace
}  // namespace cleave
