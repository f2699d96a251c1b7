#include "ir/sharding/layout/layout.h"

#include <map>
#include <numeric>
#include <random>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

Layout LayoutOf(absl::string_view text, const Mesh& mesh) {
  absl::StatusOr<Layout> layout = ParseLayout(text, mesh);
  EXPECT_TRUE(layout.ok()) << text << ": " << layout.status();
  return *layout;
}

// Every non-partial layout of a tensor of `rank` dimensions.
std::vector<Layout> AllLayouts(const Mesh& mesh, int rank) {
  std::vector<Layout> layouts = {Layout::Replicated(rank)};
  std::set<Layout> seen(layouts.begin(), layouts.end());
  for (size_t i = 0; i < layouts.size(); ++i) {
    for (AxisId axis : mesh.AxisIds()) {
      for (int d = 0; d < rank; ++d) {
        Layout next = layouts[i];
        next.dimensions[static_cast<size_t>(d)].push_back(axis);
        if (VerifyLayout(next, mesh, rank).ok() && seen.insert(next).second) layouts.push_back(next);
      }
    }
  }
  return layouts;
}

// For each dimension 0 the first element of each rank's slice.
std::vector<int64_t> Begins(const Layout& layout, const Mesh& mesh, const Shape& shape, size_t dimension) {
  std::vector<int64_t> begins;
  for (int rank = 0; rank < mesh.rank_count(); ++rank) {
    begins.push_back(SliceOf(layout, mesh, shape, rank)[dimension].begin);
  }
  return begins;
}

TEST(LayoutTest, KnownLocalShapes) {
  const Mesh mesh = Mesh::OfDevices(8);
  // ((4, 2), (1, 2)) of 256x784 and 512x784.
  EXPECT_EQ(LargestLocalShape(LayoutOf("[m0 m1, m2]", mesh), mesh, {256, 784}), (Shape{64, 392}));
  EXPECT_EQ(LargestLocalShape(LayoutOf("[-, m2]", mesh), mesh, {512, 784}), (Shape{512, 392}));
  EXPECT_EQ(CutCounts(LayoutOf("[m0 m1, m2]", mesh), mesh), (std::vector<int64_t>{4, 2}));
}

TEST(LayoutTest, UnevenLocalShapes) {
  const Mesh mesh = MeshOf({4});
  const Layout rows = LayoutOf("[m0]", mesh);
  const auto sizes = [&](int64_t elements) {
    std::vector<int64_t> result;
    for (int rank = 0; rank < 4; ++rank) result.push_back(LocalShape(rows, mesh, {elements}, rank)[0]);
    return result;
  };
  EXPECT_EQ(sizes(12), (std::vector<int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(sizes(13), (std::vector<int64_t>{3, 3, 3, 4}));
  EXPECT_EQ(sizes(14), (std::vector<int64_t>{3, 4, 3, 4}));
  EXPECT_EQ(sizes(2), (std::vector<int64_t>{0, 1, 0, 1}));
}

// Every element is on exactly ranks / (number of pieces) ranks, for every layout and uneven shapes.
TEST(LayoutTest, SlicesTileTheTensor) {
  for (const Mesh& mesh : {Mesh::OfDevices(8), MeshOf({3, 2}), MeshOf({2, 1, 3})}) {
    for (const Shape& shape : {Shape{5, 3}, Shape{8, 4}, Shape{1, 7}}) {
      for (const Layout& layout : AllLayouts(mesh, 2)) {
        int64_t pieces = 1;
        for (int64_t count : CutCounts(layout, mesh)) pieces *= count;
        std::vector<int> holders(static_cast<size_t>(shape[0] * shape[1]), 0);
        for (int rank = 0; rank < mesh.rank_count(); ++rank) {
          const std::vector<Piece> slice = SliceOf(layout, mesh, shape, rank);
          for (int64_t i = 0; i < slice[0].size; ++i) {
            for (int64_t j = 0; j < slice[1].size; ++j) {
              ++holders[static_cast<size_t>((slice[0].begin + i) * shape[1] + slice[1].begin + j)];
            }
          }
        }
        EXPECT_EQ(holders, std::vector<int>(holders.size(), static_cast<int>(mesh.rank_count() / pieces)))
            << LayoutText(layout, mesh);
      }
    }
  }
}

TEST(LayoutTest, TextRoundTrips) {
  for (const Mesh& mesh : {Mesh::OfDevices(12), MeshOf({2, 1, 3})}) {
    for (int rank : {0, 1, 3}) {
      for (const Layout& layout : AllLayouts(mesh, rank)) {
        EXPECT_EQ(LayoutOf(LayoutText(layout, mesh), mesh), layout) << LayoutText(layout, mesh);
      }
    }
  }
  const Mesh mesh = Mesh::OfDevices(8);
  EXPECT_EQ(LayoutText(LayoutOf("[m1 m0,-]partial( m2 :max )", mesh), mesh), "[m1 m0, -] partial(m2: max)");
}

TEST(LayoutTest, RefusesBadText) {
  const Mesh mesh = Mesh::OfDevices(4);
  const auto message = [&](absl::string_view text) { return std::string(ParseLayout(text, mesh).status().message()); };
  EXPECT_EQ(message("m0"), "expected a layout such as `[m0 m1, -]`");
  EXPECT_EQ(message("[m0"), "expected a layout such as `[m0 m1, -]`");
  EXPECT_EQ(message("[m7]"), "no mesh axis `m7` in (m0=2, m1=2)");
  EXPECT_EQ(message("[m0, m0]"), "mesh axis `m0` is used twice");
  EXPECT_EQ(message("[m0] partial(m0: sum)"), "mesh axis `m0` is used twice");
  EXPECT_EQ(message("[m0, ]"), "a dimension without axes is written `-`");
  EXPECT_EQ(message("[m0] x"), "expected the end of the layout, found `x`");
  EXPECT_EQ(message("[m0] partial(m1: product)"), "no reduction ` product`");
}

// MatMul ((2, 1), (1, 4)) on 8 devices: X map [2, 1], W map [1, 0].
TEST(DeviceMatrixTest, MatmulOfEightDevices) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Layout x = *FromDeviceMatrix({{2, 1, 4}, {2, 1}}, mesh);
  const Layout w = *FromDeviceMatrix({{2, 1, 4}, {1, 0}}, mesh);
  EXPECT_EQ(LayoutText(x, mesh), "[m0, -]");
  EXPECT_EQ(LayoutText(w, mesh), "[-, m1 m2]");
  EXPECT_EQ(Begins(x, mesh, {2, 8}, 0), (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(Begins(w, mesh, {8, 4}, 1), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
}

// D = [4, 2], M = [-1, 0]: even ranks hold slice 0, odd ones slice 1; rank 6's replicas are 0, 2, 4, 6.
TEST(DeviceMatrixTest, InnerAxisAlternates) {
  const Mesh mesh = Mesh::OfDevices(8);
  const Layout layout = *FromDeviceMatrix({{4, 2}, {-1, 0}}, mesh);
  EXPECT_EQ(Begins(layout, mesh, {3, 2}, 1), (std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  std::vector<int> replicas;
  for (int rank = 0; rank < 8; ++rank) {
    if (SliceOf(layout, mesh, {3, 2}, rank) == SliceOf(layout, mesh, {3, 2}, 6)) replicas.push_back(rank);
  }
  EXPECT_EQ(replicas, (std::vector<int>{0, 2, 4, 6}));
}

// MatMul [2, 4, 8, 16] x [2, 4, 16, 32] with strategy ((2, 4, 8, 16), (2, 4, 16, 1)).
TEST(DeviceMatrixTest, BatchedMatmul) {
  const Mesh mesh = MeshOf({2, 4, 8, 16});
  const std::vector<int64_t> matrix = {2, 4, 8, 16, 1};
  EXPECT_EQ(LayoutText(*FromDeviceMatrix({matrix, {4, 3, 2, 1}}, mesh), mesh), "[m0, m1, m2, m3]");
  EXPECT_EQ(LayoutText(*FromDeviceMatrix({matrix, {4, 3, 1, 0}}, mesh), mesh), "[m0, m1, m3, -]");
  EXPECT_EQ(LayoutText(*FromDeviceMatrix({matrix, {4, 3, 2, 0}}, mesh), mesh), "[m0, m1, m2, -]");
}

TEST(DeviceMatrixTest, RoundTrips) {
  int converted = 0;
  for (const Mesh& mesh : {Mesh::OfDevices(8), MeshOf({3, 2, 2}), MeshOf({5})}) {
    for (const Layout& layout : AllLayouts(mesh, 2)) {
      const absl::StatusOr<DeviceMatrixForm> form = ToDeviceMatrix(layout, mesh);
      if (!form.ok()) continue;
      ++converted;
      const absl::StatusOr<Layout> back = FromDeviceMatrix(*form, mesh);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(*back, layout) << LayoutText(layout, mesh);
    }
  }
  EXPECT_GT(converted, 30);
}

TEST(DeviceMatrixTest, NeighbouringAxesBecomeOneDimension) {
  const Mesh mesh = Mesh::OfDevices(8);
  EXPECT_EQ(*ToDeviceMatrix(LayoutOf("[m0 m1, m2]", mesh), mesh), (DeviceMatrixForm{{4, 2}, {1, 0}}));
  EXPECT_EQ(*ToDeviceMatrix(LayoutOf("[-, m2]", mesh), mesh), (DeviceMatrixForm{{2, 2, 2}, {-1, 0}}));
}

TEST(DeviceMatrixTest, RefusesWhatTheFormCannotSay) {
  const Mesh mesh = Mesh::OfDevices(8);
  EXPECT_FALSE(ToDeviceMatrix(LayoutOf("[m0 m2, -]", mesh), mesh).ok());
  EXPECT_FALSE(ToDeviceMatrix(LayoutOf("[m1 m0, -]", mesh), mesh).ok());
  EXPECT_FALSE(ToDeviceMatrix(LayoutOf("[-] partial(m0: sum)", mesh), mesh).ok());
  EXPECT_EQ(FromDeviceMatrix({{3, 2}, {0}}, mesh).status().message(),
            "device matrix [3, 2] is no grouping of the mesh (m0=2, m1=2, m2=2)");
  EXPECT_FALSE(FromDeviceMatrix({{2, 2}, {0}}, mesh).ok());
  EXPECT_FALSE(FromDeviceMatrix({{8}, {1}}, mesh).ok());
  EXPECT_FALSE(FromDeviceMatrix({{4, 2}, {0, 0}}, mesh).ok());
}

}  // namespace
}  // namespace cleave::ir
