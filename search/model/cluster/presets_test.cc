#include "search/model/cluster/presets.h"

#include "gtest/gtest.h"

namespace cleave::search {
namespace {

std::string MeshText(const std::optional<Cluster>& cluster) {
  return cluster.has_value() ? MeshOfCluster(*cluster).ToString() : "none";
}

TEST(PresetsTest, AreSoundForEveryNumberOfDevices) {
  for (const std::string& name : PresetNames()) {
    for (const char* hosts : {"", "*1", "*3"}) {
      const std::optional<Machines> machines = FindPreset(name + hosts);
      ASSERT_TRUE(machines.has_value()) << name << hosts;
      for (int64_t devices = 1; devices <= 24; ++devices) {
        const std::optional<Cluster> cluster = ClusterOf(*machines, devices);
        if (!cluster.has_value()) continue;
        EXPECT_EQ(VerifyCluster(*cluster), std::vector<std::string>{}) << name << hosts << " " << devices;
        EXPECT_EQ(cluster->devices(), devices);
        EXPECT_EQ(cluster->name, name + hosts);
      }
    }
  }
}

TEST(PresetsTest, OthersAreUnknown) {
  for (const char* name :
       {"", "h100", "h100x8*0", "h100x8*", "h100x8*-1", "h100x8*+2", "h100x8* 2", "h100x8*70000", "*2"}) {
    EXPECT_FALSE(FindPreset(name).has_value()) << name;
  }
}

TEST(PresetsTest, HaveTheFiguresOfTheirDevices) {
  const Cluster h200 = FindPreset("h200x8")->host;
  EXPECT_EQ(h200.links[0].bytes_per_second, 450e9);
  EXPECT_EQ(h200.links[0].switch_reduction->bytes_per_second, 482e9);
  EXPECT_DOUBLE_EQ(h200.links[0].groups.back().bytes_per_second, 368e9);
  EXPECT_EQ(h200.memory_per_device, Bytes(141'000'000'000));
  EXPECT_EQ(h200.peak.bf16, 989e12);
  EXPECT_EQ(h200.peak.fp8, 1979e12);
  EXPECT_EQ(FindPreset("a100x8")->host.peak.fp8, 0);
  EXPECT_EQ(FindPreset("v100x8")->host.links[0].groups[1].bytes_per_second, 86e9);
  EXPECT_EQ(FindPreset("b200x8")->network.bytes_per_second, 50e9);
  EXPECT_EQ(FindPreset("ascend910x8")->host.memory_bytes_per_second, 1.2e12);
  EXPECT_EQ(FindPreset("cpu")->host, CpuCluster(1));
}

TEST(ClusterOfTest, TakesPartOfAHostOrWholeHosts) {
  const Machines h100 = *FindPreset("h100x8");
  EXPECT_EQ(MeshText(ClusterOf(h100, 1)), "");
  EXPECT_EQ(MeshText(ClusterOf(h100, 6)), "m0=3, m1=2");
  EXPECT_EQ(MeshText(ClusterOf(h100, 8)), "m0=2, m1=2, m2=2");
  EXPECT_EQ(MeshText(ClusterOf(h100, 24)), "m0=3, m1=2, m2=2, m3=2");
  EXPECT_EQ(MeshText(ClusterOf(h100, 12)), "none");
  EXPECT_EQ(MeshText(ClusterOf(h100, 0)), "none");
  const ir::Mesh mesh = MeshOfCluster(*ClusterOf(h100, 16));
  EXPECT_EQ(mesh.axis(ir::AxisId(0)).link, "network");
  EXPECT_EQ(mesh.axis(ir::AxisId(0)).weight, 1);
  EXPECT_EQ(mesh.axis(ir::AxisId(1)).link, "host");
  EXPECT_DOUBLE_EQ(mesh.axis(ir::AxisId(1)).weight, 50.0 / 450);
  // The slowest link that is crossed weighs 1.
  EXPECT_EQ(MeshOfCluster(*ClusterOf(h100, 4)).axis(ir::AxisId(0)).weight, 1);
}

TEST(ClusterOfTest, HasNoMoreHostsThanThereAre) {
  const Machines four_hosts = *FindPreset("h100x8*4");
  EXPECT_EQ(four_hosts.devices(), 32);
  EXPECT_TRUE(ClusterOf(four_hosts, 32).has_value());
  EXPECT_TRUE(ClusterOf(four_hosts, 16).has_value());
  EXPECT_FALSE(ClusterOf(four_hosts, 40).has_value());
}

TEST(ClusterOfTest, FillsTheFasterLinksFirst) {
  const Machines ascend = *FindPreset("ascend910x8");
  EXPECT_EQ(MeshText(ClusterOf(ascend, 3)), "m0=3");
  EXPECT_EQ(MeshOfCluster(*ClusterOf(ascend, 4)).axis(ir::AxisId(0)).link, "hccs");
  EXPECT_EQ(MeshText(ClusterOf(ascend, 6)), "none");
  EXPECT_EQ(MeshOfCluster(*ClusterOf(ascend, 8)).axis(ir::AxisId(0)).link, "pcie");
}

TEST(ClusterOfTest, CoresOfAHostShareItsCard) {
  const Machines two_hosts = *FindPreset("cpu*2");
  EXPECT_FALSE(ClusterOf(two_hosts, 5).has_value());
  const Cluster cluster = *ClusterOf(two_hosts, 8);
  ASSERT_EQ(cluster.links.size(), 2u);
  EXPECT_EQ(cluster.links[0].count, 2);
  EXPECT_EQ(cluster.links[0].bytes_per_second, 1.25e9 / 4);
  EXPECT_EQ(cluster.links[1].count, 4);
  EXPECT_EQ(*ClusterOf(*FindPreset("cpu"), 5), CpuCluster(5));
}

TEST(NearestDevicesTest, AreOnBothSides) {
  EXPECT_EQ(NearestDevices(*FindPreset("h100x8"), 12), (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(NearestDevices(*FindPreset("h100x8*4"), 1000), (std::vector<int64_t>{32}));
  EXPECT_EQ(NearestDevices(*FindPreset("ascend910x8"), 5), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(NearestDevices(*FindPreset("cpu*3"), 8), (std::vector<int64_t>{6, 9}));
  EXPECT_EQ(NearestDevices(*FindPreset("cpu*3"), 1), (std::vector<int64_t>{3}));
}

}  // namespace
}  // namespace cleave::search
