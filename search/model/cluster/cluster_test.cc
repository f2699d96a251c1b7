#include "search/model/cluster/cluster.h"

#include <cmath>
#include <functional>
#include <limits>

#include "gtest/gtest.h"

namespace cleave::search {
namespace {

TEST(MeshOfClusterTest, AxesArePrimeWithLargerOnesOutermost) {
  EXPECT_EQ(MeshOfCluster(CpuCluster(8)).ToString(), "m0=2, m1=2, m2=2");
  EXPECT_EQ(MeshOfCluster(CpuCluster(12)).ToString(), "m0=3, m1=2, m2=2");
  EXPECT_EQ(MeshOfCluster(CpuCluster(1)).axis_count(), 0);
}

TEST(MeshOfClusterTest, SlowLinksAreOutermostAndWeighMost) {
  Cluster cluster = CpuCluster(8);
  cluster.links.insert(cluster.links.begin(), Link{.name = "network", .count = 3, .bytes_per_second = 6e8});
  const ir::Mesh mesh = MeshOfCluster(cluster);
  EXPECT_EQ(mesh.ToString(), "m0=3, m1=2, m2=2, m3=2");
  EXPECT_EQ(mesh.axis(ir::AxisId(0)).link, "network");
  EXPECT_DOUBLE_EQ(mesh.axis(ir::AxisId(0)).weight, 1.0);
  EXPECT_DOUBLE_EQ(mesh.axis(ir::AxisId(1)).weight, 0.1);
}

TEST(MeshForTest, NamedAxesBecomePrimeSubAxes) {
  Diagnostics diagnostics;
  const std::vector<ir::NamedAxis> named = {{.name = "dp", .size = 4, .span = {}},
                                            {.name = "tp", .size = 2, .span = {}}};
  const std::optional<ir::Mesh> mesh = MeshFor(CpuCluster(8), named, Span{}, diagnostics);
  ASSERT_TRUE(mesh.has_value());
  EXPECT_EQ(mesh->ToString(), "dp.0=2, dp.1=2, tp=2");
  EXPECT_EQ(AxesNamed(*mesh, "dp"), (ir::AxisList{ir::AxisId(0), ir::AxisId(1)}));
  EXPECT_EQ(AxesNamed(*mesh, "tp"), (ir::AxisList{ir::AxisId(2)}));
  EXPECT_TRUE(AxesNamed(*mesh, "d").empty());
  EXPECT_TRUE(AxesNamed(*mesh, "dp.0").empty());
  EXPECT_EQ(AxisNames(*mesh), (std::vector<std::string>{"dp", "tp"}));
}

TEST(MeshForTest, AProductOtherThanTheDevicesIsAnError) {
  Diagnostics diagnostics;
  const std::vector<ir::NamedAxis> named = {{.name = "dp", .size = 3, .span = {}},
                                            {.name = "tp", .size = 2, .span = {}}};
  EXPECT_FALSE(MeshFor(CpuCluster(8), named, Span{FileId(0), 1, 2}, diagnostics).has_value());
  ASSERT_EQ(diagnostics.error_count(), 1);
  EXPECT_EQ(diagnostics.items()[0].message, "the mesh has 6 ranks, but there are 8 devices");
  EXPECT_EQ(diagnostics.items()[0].labels[0].text, "3 x 2 = 6");
}

TEST(VerifyClusterTest, FindsRatesThatCannotBe) {
  const auto first = [](const std::function<void(Cluster&)>& change) {
    Cluster cluster = CpuCluster(8);
    change(cluster);
    const std::vector<std::string> findings = VerifyCluster(cluster);
    return findings.empty() ? std::string("none") : findings.front();
  };
  EXPECT_EQ(first([](Cluster&) {}), "none");
  EXPECT_EQ(first([](Cluster& c) { c.links[0].bytes_per_second = 0; }),
            "the bandwidth of link `host` is not greater than zero: 0");
  EXPECT_EQ(first([](Cluster& c) { c.links[0].bytes_per_second = std::nan(""); }),
            "the bandwidth of link `host` is not greater than zero: nan");
  EXPECT_EQ(first([](Cluster& c) { c.peak.f32 = -1; }), "the f32 peak is not greater than zero: -1");
  EXPECT_EQ(first([](Cluster& c) { c.memory_bytes_per_second = std::numeric_limits<double>::infinity(); }),
            "the memory bandwidth is not greater than zero: inf");
  EXPECT_EQ(first([](Cluster& c) { c.links[0].latency = Seconds(-1); }),
            "the latency of link `host` is negative or not a number: -1");
  EXPECT_EQ(first([](Cluster& c) { c.links[0].one_way_ratio = 0; }),
            "the one-way ratio of link `host` is not greater than zero: 0");
  EXPECT_EQ(first([](Cluster& c) { c.overlap_slowdown = 0.5; }), "the slowdown by overlap is less than 1: 0.5");
  EXPECT_EQ(first([](Cluster& c) { c.links.clear(); }), "there is no link");
  EXPECT_EQ(first([](Cluster& c) { c.links[0].count = int64_t{1} << 40; }),
            "the number of devices is more than 2^20: 1.09951e+12");
}

TEST(VerifyClusterTest, FindsListsOutOfOrder) {
  const GroupRate four{.ranks = 4, .latency = Seconds(0), .bytes_per_second = 1e9};
  Cluster cluster = CpuCluster(8);
  cluster.links[0].groups = {four, four};
  EXPECT_EQ(VerifyCluster(cluster),
            std::vector<std::string>{"the size of a group of link `host` is not greater than 4: 4"});
  cluster = CpuCluster(8);
  cluster.links.push_back(cluster.links[0]);
  EXPECT_EQ(VerifyCluster(cluster), std::vector<std::string>{"two links have the name `host`"});
  cluster.links[1].name = "slow";
  cluster.links[1].bytes_per_second = 1e9;
  EXPECT_EQ(VerifyCluster(cluster),
            std::vector<std::string>{"link `slow` is slower than the one before it; the slowest comes first"});
  cluster = CpuCluster(8);
  cluster.matrix_efficiency = {{.flops = Flops(0), .share = 0.5}, {.flops = Flops(1e9), .share = 0.4}};
  EXPECT_EQ(VerifyCluster(cluster),
            std::vector<std::string>{"a matrix efficiency is less than that of a smaller product: 0.4"});
  cluster = CpuCluster(8);
  cluster.caches = {{.bytes = Bytes(10), .bytes_per_second = 1e9}, {.bytes = Bytes(10), .bytes_per_second = 2e9}};
  EXPECT_EQ(VerifyCluster(cluster),
            (std::vector<std::string>{"the size of a cache is not greater than 10: 10",
                                      "the bandwidth of a cache is more than that of a smaller one: 2e+09",
                                      "the memory bandwidth is more than that of a cache: 1.2e+10"}));
  cluster = CpuCluster(8);
  cluster.links[0].ramp = {.ranks = 1, .points = {{.bytes = Bytes(1), .bytes_per_second = 1e9}}};
  EXPECT_EQ(VerifyCluster(cluster),
            std::vector<std::string>{"the group of the ramp of link `host` is not greater than 1: 1"});
}

}  // namespace
}  // namespace cleave::search
