#include "search/cluster/cluster.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(MeshOfClusterTest, AxesArePrimeWithLargerOnesOutermost) {
  EXPECT_EQ(MeshOfCluster(CpuCluster(8)).ToString(), "m0=2, m1=2, m2=2");
  EXPECT_EQ(MeshOfCluster(CpuCluster(12)).ToString(), "m0=3, m1=2, m2=2");
  EXPECT_EQ(MeshOfCluster(CpuCluster(1)).axis_count(), 0);
}

TEST(MeshOfClusterTest, SlowLinksAreOutermostAndWeighMost) {
  Cluster cluster = CpuCluster(8);
  cluster.links.insert(cluster.links.begin(), Link{.name = "network", .count = 3, .bytes_per_second = 4e8});
  const Mesh mesh = MeshOfCluster(cluster);
  EXPECT_EQ(mesh.ToString(), "m0=3, m1=2, m2=2, m3=2");
  EXPECT_EQ(mesh.axis(AxisId(0)).link, "network");
  EXPECT_DOUBLE_EQ(mesh.axis(AxisId(0)).weight, 1.0);
  EXPECT_DOUBLE_EQ(mesh.axis(AxisId(1)).weight, 0.1);
}

TEST(MeshForTest, NamedAxesBecomePrimeSubAxes) {
  Diagnostics diagnostics;
  const std::vector<NamedAxis> named = {{.name = "dp", .size = 4, .span = {}}, {.name = "tp", .size = 2, .span = {}}};
  const std::optional<Mesh> mesh = MeshFor(CpuCluster(8), named, Span{}, diagnostics);
  ASSERT_TRUE(mesh.has_value());
  EXPECT_EQ(mesh->ToString(), "dp.0=2, dp.1=2, tp=2");
  EXPECT_EQ(AxesNamed(*mesh, "dp"), (std::vector<AxisId>{AxisId(0), AxisId(1)}));
  EXPECT_EQ(AxesNamed(*mesh, "tp"), (std::vector<AxisId>{AxisId(2)}));
  EXPECT_TRUE(AxesNamed(*mesh, "d").empty());
  EXPECT_EQ(AxisNames(*mesh), (std::vector<std::string>{"dp", "tp"}));
}

TEST(MeshForTest, AProductOtherThanTheDevicesIsAnError) {
  Diagnostics diagnostics;
  const std::vector<NamedAxis> named = {{.name = "dp", .size = 3, .span = {}}, {.name = "tp", .size = 2, .span = {}}};
  EXPECT_FALSE(MeshFor(CpuCluster(8), named, Span{}, diagnostics).has_value());
  ASSERT_EQ(diagnostics.error_count(), 1);
  EXPECT_EQ(diagnostics.items()[0].message, "the mesh has 6 ranks, but there are 8 devices");
  EXPECT_EQ(diagnostics.items()[0].labels[0].text, "3 x 2 = 6");
}

}  // namespace
}  // namespace cleave
