#include "bench/calibrate/fit.h"

#include "gtest/gtest.h"
#include "search/price/cost/time.h"

namespace cleave::bench {
namespace {

// All-reduces of 1 KiB to 64 MiB that take exactly latency + traffic / bandwidth.
std::vector<MeasuredCollective> Exact(int64_t ranks, double latency, double bandwidth) {
  std::vector<MeasuredCollective> measured;
  for (int64_t bytes = 1024; bytes <= 64 << 20; bytes *= 4) {
    const double n = static_cast<double>(ranks);
    const double traffic = 2 * (n - 1) / n * static_cast<double>(bytes);
    measured.push_back({.ranks = ranks, .bytes = Bytes(bytes), .seconds = Seconds(latency + traffic / bandwidth)});
  }
  return measured;
}

TEST(FitGroupTest, FindsWhatTheTimesWereMadeOf) {
  const search::GroupRate rate = FitGroup(Exact(4, 5e-6, 4e9), 4);
  EXPECT_EQ(rate.ranks, 4);
  EXPECT_NEAR(rate.latency.value(), 5e-6, 1e-12);
  EXPECT_NEAR(rate.bytes_per_second, 4e9, 1);
}

TEST(FitGroupTest, LatencyIsNeverNegative) {
  // Small messages are faster than in proportion to their size.
  std::vector<MeasuredCollective> measured = Exact(2, 0, 1e9);
  measured.front().seconds = measured.front().seconds * 0.5;
  const search::GroupRate rate = FitGroup(measured, 2);
  EXPECT_EQ(rate.latency.value(), 0);
  EXPECT_GT(rate.bytes_per_second, 1e9);
  EXPECT_LT(rate.bytes_per_second, 2e9);
}

Measurements Sample() {
  Measurements sample{.ranks = 4,
                      .collectives = Exact(2, 3e-6, 5e9),
                      .products = {},
                      .memory = {{.bytes = Bytes(1 << 28), .bytes_per_second = 1e10}}};
  for (const MeasuredCollective& measured : Exact(4, 5e-6, 4e9)) sample.collectives.push_back(measured);
  sample.collectives.back().seconds =
      sample.collectives.back().seconds * 1.5;  // The data no longer fits into the caches.
  sample.products = {{.flops = Flops(1e4), .seconds = Seconds(1e-6)},
                     {.flops = Flops(1e6), .seconds = Seconds(1e-5)},
                     {.flops = Flops(1e9), .seconds = Seconds(5e-3)},
                     {.flops = Flops(1e10), .seconds = Seconds(6e-2)}};
  return sample;
}

TEST(ClusterFromTest, IsSoundAndReproducesTheLargestGroup) {
  const Measurements sample = Sample();
  const search::Cluster cluster = ClusterFrom(sample, "here");
  EXPECT_EQ(search::VerifyCluster(cluster), std::vector<std::string>{});
  const ir::Mesh mesh = search::MeshOfCluster(cluster);
  for (const MeasuredCollective& measured : sample.collectives) {
    if (measured.ranks != 4) continue;
    const Seconds predicted = search::CollectiveSeconds(cluster, mesh, measured.kind, mesh.AxisIds(), measured.bytes);
    EXPECT_NEAR(predicted.value() / measured.seconds.value(), 1, 1e-9) << measured.bytes.value();
  }
}

TEST(ClusterFromTest, EfficiencyRisesToThePeak) {
  const search::Cluster cluster = ClusterFrom(Sample(), "here");
  EXPECT_DOUBLE_EQ(cluster.peak.f32, 2e11);
  EXPECT_EQ(cluster.kernel_floor.value(), 1e-6);
  EXPECT_DOUBLE_EQ(cluster.matrix_efficiency[1].share, 0.5);
  EXPECT_EQ(cluster.matrix_efficiency.back().share, 1);
}

TEST(ClusterFromTest, OneWayCollectivesHaveTheirOwnRatio) {
  Measurements sample = Sample();
  EXPECT_EQ(ClusterFrom(sample, "here").links[0].one_way_ratio, 1);
  const MeasuredCollective largest = sample.collectives.back();
  for (ir::CollectiveKind kind : {ir::CollectiveKind::kAllGather, ir::CollectiveKind::kReduceScatter}) {
    MeasuredCollective half = largest;
    half.kind = kind;
    sample.collectives.push_back(half);
  }
  // Half the traffic in the same time.
  EXPECT_DOUBLE_EQ(ClusterFrom(sample, "here").links[0].one_way_ratio, 0.5);
}

}  // namespace
}  // namespace cleave::bench
