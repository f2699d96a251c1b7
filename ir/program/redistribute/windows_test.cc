// Ways into layouts with windows.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/program/redistribute/sampling.h"
#include "ir/program/redistribute/simulation.h"
#include "ir/program/redistribute/testing.h"
#include "ir/sharding/layout/boxes.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

// A convolution of `width` along dimension `d`, padded so that the size stays.
DimensionWindow Halo(const Shape& shape, int d, int64_t width) {
  const int64_t elements = shape[static_cast<size_t>(d)];
  return {.dimension = d,
          .window = {.elements = elements, .outer = elements, .first = -(width / 2), .last = width / 2}};
}

TEST(WindowsTest, BringsPiecesIntoWindows) {
  const Mesh mesh = MeshOf({2, 2}, {1, 0.5});
  const Shape shape = {16, 8};
  const TensorType type{DType::kF32, shape};
  Layout target = LayoutOf("[m0 m1, -]", mesh);
  target.windows = {Halo(shape, 0, 3)};
  const std::string text = LayoutText(target, mesh);
  EXPECT_EQ(PathText(mesh, shape, "[m0 m1, -]", text), "neighbor_exchange " + text);
  // One row of eight on each side of the inner ranks, over the most expensive of the axes.
  EXPECT_DOUBLE_EQ(CostOf(mesh, shape, "[m0 m1, -]", text), 2 * 8 * 4);
  EXPECT_EQ(PathText(mesh, shape, "[-, -]", text), "slice " + text);
  EXPECT_EQ(PathText(mesh, shape, "[-, m0 m1]", text), "all_to_all [m0 m1, -]; neighbor_exchange " + text);
  EXPECT_EQ(PathText(mesh, shape, "[-, -] partial(m0: sum, m1: sum)", text),
            "reduce_scatter [m0 m1, -]; neighbor_exchange " + text);
  const Redistribution plan = *PlanRedistribution(mesh, type, LayoutOf("[m0 m1, -]", mesh), target);
  EXPECT_EQ(plan.moves.back().axes, (AxisList{AxisId(0), AxisId(1)}));
}

TEST(WindowsTest, GathersWhereWindowsAreNearlyTheWhole) {
  // The rank that lacks most gets all except its own row by the exchange; an all_gather costs the same: a tie.
  const Mesh mesh = MeshOf({4});
  const Shape shape = {4, 8};
  Layout target = LayoutOf("[m0, -]", mesh);
  target.windows = {Halo(shape, 0, 7)};
  const std::string text = LayoutText(target, mesh);
  EXPECT_EQ(PathText(mesh, shape, "[m0, -]", text), "neighbor_exchange " + text);
  // From columns, an all_gather alone costs less than an all_to_all and the exchange.
  EXPECT_EQ(PathText(mesh, shape, "[-, m0]", text), "all_gather [-, -]; slice " + text);
}

TEST(WindowsTest, SlicesWhereWindowsLieWithinPieces) {
  const Mesh mesh = MeshOf({4});
  const Shape shape = {16};
  Layout target = LayoutOf("[m0]", mesh);
  target.windows = {{.dimension = 0, .window = {.elements = 16, .outer = 8, .numerator = 2, .last = 1}}};
  EXPECT_EQ(PathText(mesh, shape, "[m0]", LayoutText(target, mesh)), "slice " + LayoutText(target, mesh));
  EXPECT_EQ(CostOf(mesh, shape, "[m0]", LayoutText(target, mesh)), 0);
  // One windowed dimension stays within its pieces; the other is whole before.
  const Mesh square = MeshOf({2, 2});
  const Shape image = {16, 4};
  Layout both = LayoutOf("[m0, m1]", square);
  both.windows = {target.windows[0], Halo(image, 1, 3)};
  EXPECT_EQ(PathText(square, image, "[m0, -]", LayoutText(both, square)), "slice " + LayoutText(both, square));
}

// Slices of one element: only that is sent, and nothing where the rank that needs it has it.
TEST(WindowsTest, SendsAShortSliceAlone) {
  const Mesh mesh = MeshOf({4});
  const Shape shape = {16, 8};
  Layout target = LayoutOf("[m0, -]", mesh);
  target.windows = {{.dimension = 0, .window = {.elements = 16, .outer = 1, .first = 3, .last = 3}}};
  EXPECT_EQ(PathText(mesh, shape, "[m0, -]", LayoutText(target, mesh)),
            "neighbor_exchange " + LayoutText(target, mesh));
  EXPECT_DOUBLE_EQ(CostOf(mesh, shape, "[m0, -]", LayoutText(target, mesh)), 8 * 4);
  target.windows[0].window.first = target.windows[0].window.last = 15;
  EXPECT_EQ(PathText(mesh, shape, "[m0, -]", LayoutText(target, mesh)), "slice " + LayoutText(target, mesh));
}

TEST(WindowsTest, LeavesNoWindows) {
  const Mesh mesh = MeshOf({4});
  const Shape shape = {16};
  const TensorType type{DType::kF32, shape};
  Layout source = LayoutOf("[m0]", mesh);
  source.windows = {Halo(shape, 0, 3)};
  EXPECT_TRUE(PlanRedistribution(mesh, type, source, source)->moves.empty());
  EXPECT_EQ(PlanRedistribution(mesh, type, source, LayoutOf("[m0]", mesh)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(WindowsTest, MovesTheRightElementsIntoWindows) {
  constexpr uint32_t kSeed = 6;
  std::mt19937 random(kSeed);
  int exchanges = 0, slices = 0;
  for (int round = 0; round < 400; ++round) {
    const Mesh mesh = MeshOf(std::vector<std::vector<int64_t>>{{4}, {2, 2}, {3, 2}, {2, 2, 2}}[random() % 4]);
    TensorType type{DType::kF32, {}};
    for (int d = 0; d < 2; ++d) type.shape.push_back(1 + static_cast<int64_t>(random() % 12));
    const Layout source = RandomLayout(mesh, 2, true, random);
    Layout target = RandomLayout(mesh, 2, false, random);
    for (int d = 0; d < 2; ++d) {
      if (target.dimensions[static_cast<size_t>(d)].empty() || random() % 4 == 0) continue;
      const int64_t first = static_cast<int64_t>(random() % 5) - 2;
      target.windows.push_back({.dimension = d,
                                .window = {.elements = type.shape[static_cast<size_t>(d)],
                                           .outer = 1 + static_cast<int64_t>(random() % 12),
                                           .numerator = 1 + static_cast<int64_t>(random() % 2),
                                           .denominator = 1 + static_cast<int64_t>(random() % 2),
                                           .first = first,
                                           .last = first + static_cast<int64_t>(random() % 3)}});
    }
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << ShapeText(type.shape) << " "
                                    << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh));
    ExpectCorrectPath(mesh, type, source, target, Reduction::kSum);
    ASSERT_FALSE(HasFatalFailure());
    if (target.windows.empty()) continue;
    const Redistribution plan = *PlanRedistribution(mesh, type, source, target);
    ASSERT_FALSE(plan.moves.empty());
    (plan.moves.back().collective.has_value() ? exchanges : slices) += 1;
    // By both ways: through the same cuts, and through whole dimensions.
    Layout whole = target.WithoutWindows();
    for (const DimensionWindow& window : target.windows)
      whole.dimensions[static_cast<size_t>(window.dimension)].clear();
    const Layout cut = target.WithoutWindows();
    Move exchange{.collective = CollectiveKind::kNeighborExchange, .axes = WindowedAxes(target), .result = target};
    const double received = static_cast<double>(LargestReceivedElements(cut, target, mesh, type.shape));
    EXPECT_DOUBLE_EQ(MoveCost(mesh, type, cut, exchange), 4 * received);
    const double by_cut = PlanRedistribution(mesh, type, source, cut)->cost +
                          (IsWithin(cut, target, mesh, type.shape) ? 0 : 4 * received);
    const double by_whole = PlanRedistribution(mesh, type, source, whole)->cost;
    EXPECT_LE(plan.cost, std::min(by_cut, by_whole) + 1e-9);
    if (target.windows.size() == 1) {
      EXPECT_NEAR(plan.cost, std::min(by_cut, by_whole), 1e-9);
    }
  }
  EXPECT_GT(exchanges, 20);
  EXPECT_GT(slices, 20);
}

}  // namespace
}  // namespace cleave::ir
