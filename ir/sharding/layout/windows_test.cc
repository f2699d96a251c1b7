#include <algorithm>
#include <random>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/sharding/layout/boxes.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {
namespace {

constexpr unsigned kSeed = 5;

// A 3-wide convolution with stride 1 over the rows of a tensor of shape 10 x 6, padded so that the size stays.
Layout Rows(const Mesh& mesh) {
  Layout layout{.dimensions = {mesh.AxisIds(), {}}, .partial = {}};
  layout.windows = {{.dimension = 0, .window = {.elements = 10, .outer = 10, .first = -1, .last = 1}}};
  return layout;
}

TEST(WindowsTest, ARankHoldsItsPieceAndTheHalo) {
  const Mesh mesh = Mesh::OfDevices(4);
  const Shape shape = {10, 6};
  const Layout layout = Rows(mesh);
  ASSERT_TRUE(VerifyLayout(layout, mesh, 2).ok());
  EXPECT_EQ(SliceOf(layout, mesh, shape, 0)[0], (Piece{0, 3}));
  EXPECT_EQ(SliceOf(layout, mesh, shape, 1)[0], (Piece{1, 5}));
  EXPECT_EQ(SliceOf(layout, mesh, shape, 3)[0], (Piece{6, 4}));
  EXPECT_EQ(LocalShape(layout, mesh, shape, 1), (Shape{5, 6}));
  EXPECT_EQ(LargestLocalShape(layout, mesh, shape), (Shape{5, 6}));
}

// A slice of one element, which is the whole outer dimension of the rank that has it.
TEST(WindowsTest, WhoHasAllOfAShortDimensionHoldsOnlyWhatThatReads) {
  const Mesh mesh = Mesh::OfDevices(4);
  Layout layout{.dimensions = {mesh.AxisIds(), {}}, .partial = {}};
  layout.windows = {{.dimension = 0, .window = {.elements = 10, .outer = 1, .first = 4, .last = 4}}};
  for (int rank : {0, 1, 2}) EXPECT_EQ(SliceOf(layout, mesh, {10, 6}, rank)[0], (Piece{0, 0}));
  EXPECT_EQ(SliceOf(layout, mesh, {10, 6}, 3)[0], (Piece{4, 1}));
  EXPECT_EQ(LargestLocalShape(layout, mesh, {10, 6}), (Shape{1, 6}));
  EXPECT_EQ(LargestReceivedElements(layout.WithoutWindows(), layout, mesh, {10, 6}), 6);
}

TEST(WindowsTest, TextIsParsedBack) {
  const Mesh mesh = Mesh::OfDevices(4);
  Layout layout = Rows(mesh);
  EXPECT_EQ(LayoutText(layout, mesh), "[m0 m1, -] windows(0: 10 from 10, 1/1, -1..1)");
  EXPECT_EQ(*ParseLayout(LayoutText(layout, mesh), mesh), layout);
  layout.dimensions = {{AxisId(0)}, {}};
  layout.partial = {{AxisId(1), Reduction::kSum}};
  layout.windows.push_back({.dimension = 1, .window = {.elements = 6, .outer = 3, .numerator = 2, .last = 1}});
  EXPECT_EQ(*ParseLayout(LayoutText(layout, mesh), mesh), layout);
  EXPECT_FALSE(ParseLayout("[m0, -] windows(0: 10 from 10)", mesh).ok());
  EXPECT_FALSE(ParseLayout("[m0, -] windows(2: 10 from 10, 1/1, -1..1)", mesh).ok());
}

TEST(BoxesTest, ReceivesWhatOtherRanksHold) {
  const Mesh mesh = Mesh::OfDevices(4);
  const Layout layout = Rows(mesh);
  // The inner ranks lack one row on each side, of six elements.
  EXPECT_EQ(LargestReceivedElements(layout.WithoutWindows(), layout, mesh, {10, 6}), 12);
  EXPECT_FALSE(IsWithin(layout.WithoutWindows(), layout, mesh, {10, 6}));
  EXPECT_TRUE(IsWithin(Layout::Replicated(2), layout, mesh, {10, 6}));
}

TEST(BoxesTest, PoolingOfWholeBlocksStaysInPlace) {
  const Mesh mesh = Mesh::OfDevices(4);
  Layout layout{.dimensions = {mesh.AxisIds()}, .partial = {}};
  layout.windows = {{.dimension = 0, .window = {.elements = 16, .outer = 8, .numerator = 2, .last = 1}}};
  EXPECT_TRUE(IsWithin(layout.WithoutWindows(), layout, mesh, {16}));
  EXPECT_EQ(LargestReceivedElements(layout.WithoutWindows(), layout, mesh, {16}), 0);
}

// Compares both functions with a loop over all ranks.
TEST(BoxesTest, AgreeWithEveryRank) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    const Mesh mesh = Mesh::OfDevices(std::vector<int64_t>{2, 3, 4, 6, 8, 12}[random() % 6]);
    Layout to{.dimensions = std::vector<AxisList>(3), .partial = {}};
    for (AxisId axis : mesh.AxisIds()) {
      if (const size_t d = random() % 4; d < 3) to.dimensions[d].push_back(axis);
    }
    Shape shape;
    for (int d = 0; d < 3; ++d) {
      shape.push_back(1 + static_cast<int64_t>(random() % 9));
      if (random() % 3 == 0 || to.dimensions[static_cast<size_t>(d)].empty()) continue;
      const int64_t first = static_cast<int64_t>(random() % 5) - 2;
      to.windows.push_back({.dimension = d,
                            .window = {.elements = shape.back(),
                                       .outer = 1 + static_cast<int64_t>(random() % 9),
                                       .numerator = 1 + static_cast<int64_t>(random() % 2),
                                       .denominator = 1 + static_cast<int64_t>(random() % 2),
                                       .first = first,
                                       .last = first + static_cast<int64_t>(random() % 3)}});
    }
    const Layout from = to.WithoutWindows();
    int64_t most = 0;
    bool within = true;
    for (int rank = 0; rank < mesh.rank_count(); ++rank) {
      const std::vector<Piece> has = SliceOf(from, mesh, shape, rank);
      const std::vector<Piece> needs = SliceOf(to, mesh, shape, rank);
      int64_t needed = 1, owned = 1;
      for (size_t d = 0; d < shape.size(); ++d) {
        needed *= needs[d].size;
        owned *= Intersection(needs[d], has[d]).size;
        within = within && has[d].Contains(needs[d]);
      }
      most = std::max(most, needed - owned);
    }
    EXPECT_EQ(LargestReceivedElements(from, to, mesh, shape), most);
    EXPECT_EQ(IsWithin(from, to, mesh, shape), within);
  }
}

}  // namespace
}  // namespace cleave::ir
