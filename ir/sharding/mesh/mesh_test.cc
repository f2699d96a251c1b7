#include "ir/sharding/mesh/mesh.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

TEST(MeshTest, PrimeFactorsAreLargestFirst) {
  EXPECT_EQ(PrimeFactors(1), std::vector<int64_t>{});
  EXPECT_EQ(PrimeFactors(12), (std::vector<int64_t>{3, 2, 2}));
  EXPECT_EQ(PrimeFactors(7), (std::vector<int64_t>{7}));
  EXPECT_EQ(PrimeFactors(360), (std::vector<int64_t>{5, 3, 3, 2, 2, 2}));
}

TEST(MeshTest, DevicesMakePrimeAxes) {
  EXPECT_EQ(Mesh::OfDevices(1).ToString(), "");
  EXPECT_EQ(Mesh::OfDevices(8).ToString(), "m0=2, m1=2, m2=2");
  EXPECT_EQ(Mesh::OfDevices(12).ToString(), "m0=3, m1=2, m2=2");
  EXPECT_EQ(Mesh::OfDevices(1).rank_count(), 1);
  EXPECT_EQ(Mesh::OfDevices(360).rank_count(), 360);
}

TEST(MeshTest, CoordinatesAndGroups) {
  const Mesh mesh = Mesh::OfDevices(8);
  EXPECT_EQ(mesh.Coordinates(5), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(mesh.Group(5, {AxisId(2)}), (std::vector<int>{4, 5}));
  EXPECT_EQ(mesh.Group(5, {}), (std::vector<int>{5}));
  EXPECT_EQ(mesh.Group(5, {AxisId(0), AxisId(2)}), (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(mesh.Group(5, {AxisId(2), AxisId(0)}), (std::vector<int>{0, 4, 1, 5}));
}

// Groups per axis of one rank, from MindSpore's tests of its device matrix.
TEST(MeshTest, GroupsOfKnownDeviceMatrices) {
  struct GroupsOfRank {
    std::vector<int64_t> sizes;
    std::vector<std::vector<int>> groups;  // Of rank 5, one per axis.
  };
  const std::vector<GroupsOfRank> cases = {
      {{2, 2, 3}, {{5, 11}, {2, 5}, {3, 4, 5}}},
      {{2, 1, 4, 2}, {{5, 13}, {5}, {1, 3, 5, 7}, {4, 5}}},
      {{3, 4, 2, 3, 2}, {{5, 53, 101}, {5, 17, 29, 41}, {5, 11}, {1, 3, 5}, {4, 5}}},
  };
  for (const GroupsOfRank& known : cases) {
    const Mesh mesh = MeshOf(known.sizes);
    for (size_t i = 0; i < known.groups.size(); ++i) {
      EXPECT_EQ(mesh.Group(5, {AxisId(static_cast<int64_t>(i))}), known.groups[i]) << mesh.ToString() << " axis " << i;
    }
  }
}

TEST(MeshTest, GroupsPartitionTheRanks) {
  for (const Mesh& mesh : {Mesh::OfDevices(12), MeshOf({2, 1, 4}), MeshOf({5, 2}), Mesh()}) {
    const AxisList ids = mesh.AxisIds();
    for (int subset = 0; subset < (1 << ids.size()); ++subset) {
      AxisList axes;
      for (size_t i = 0; i < ids.size(); ++i) {
        if ((subset >> i & 1) != 0) axes.push_back(ids[i]);
      }
      std::set<std::vector<int>> groups;
      size_t members = 0;
      for (int rank = 0; rank < mesh.rank_count(); ++rank) {
        const std::vector<int> group = mesh.Group(rank, axes);
        EXPECT_EQ(static_cast<int64_t>(group.size()), mesh.Size(axes));
        EXPECT_EQ(group[static_cast<size_t>(mesh.Index(rank, axes))], rank);
        if (groups.insert(group).second) members += group.size();
      }
      EXPECT_EQ(static_cast<int>(members), mesh.rank_count()) << mesh.ToString();
    }
  }
}

TEST(MeshTest, RankIsTheInverseOfCoordinates) {
  const Mesh mesh = MeshOf({3, 1, 2, 5});
  for (int rank = 0; rank < mesh.rank_count(); ++rank) EXPECT_EQ(mesh.Rank(mesh.Coordinates(rank)), rank);
}

TEST(MeshTest, RefusesWhatIsNoMesh) {
  const auto message = [](std::vector<MeshAxis> axes) {
    return std::string(Mesh::Create(std::move(axes)).status().message());
  };
  EXPECT_EQ(message({{.name = "a", .size = 2}, {.name = "a", .size = 2}}), "two mesh axes are named `a`");
  EXPECT_EQ(message({{.name = "a", .size = 0}}), "mesh axis `a` has size 0");
  EXPECT_EQ(message({{.name = "", .size = 2}}),
            "`` is no name for a mesh axis: letters, digits, `_` and `.` are allowed");
  EXPECT_EQ(message({{.name = "a", .size = 1 << 15}, {.name = "b", .size = 1 << 15}}),
            "the mesh has more than 1048576 ranks");
  EXPECT_EQ(message({{.name = "a", .size = int64_t{1} << 62}, {.name = "b", .size = int64_t{1} << 62}}),
            "the mesh has more than 1048576 ranks");
}

TEST(MeshTest, FindsAxesByName) {
  const Mesh mesh = *Mesh::Create({{.name = "dp", .size = 4}, {.name = "tp", .size = 2}});
  EXPECT_EQ(mesh.Find("tp"), AxisId(1));
  EXPECT_EQ(mesh.Find("pp"), std::nullopt);
}

}  // namespace
}  // namespace cleave::ir
