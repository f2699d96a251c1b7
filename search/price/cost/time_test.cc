// Compares the formulas with the measurements that they must reproduce (docs/cost.md), and with closed forms.
#include "search/price/cost/time.h"

#include "gtest/gtest.h"
#include "search/model/cluster/machines.h"
#include "search/model/cluster/presets.h"

namespace cleave::search {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGiB = 1 << 30;

Cluster Of(const std::string& preset, int64_t devices) { return *ClusterOf(*FindPreset(preset), devices); }

double SecondsOverAll(const Cluster& cluster, ir::CollectiveKind kind, int64_t bytes) {
  const ir::Mesh mesh = MeshOfCluster(cluster);
  return CollectiveSeconds(cluster, mesh, kind, mesh.AxisIds(), Bytes(bytes)).value();
}

// In GB/s, as nccl-tests report it.
double BusBandwidthOverAll(const Cluster& cluster, ir::CollectiveKind kind, int64_t bytes) {
  const auto n = static_cast<double>(cluster.devices());
  const double share = (kind == ir::CollectiveKind::kAllReduce ? 2 : 1) * (n - 1) / n;
  return share * static_cast<double>(bytes) / SecondsOverAll(cluster, kind, bytes) / 1e9;
}

void ExpectWithin2Percent(double predicted, double measured) { EXPECT_NEAR(predicted / measured, 1, 0.02) << measured; }

TEST(CollectiveSecondsTest, A100GroupsReachTheirBusBandwidth) {
  ExpectWithin2Percent(BusBandwidthOverAll(Of("a100x8", 2), ir::CollectiveKind::kAllReduce, 4 * kGiB), 193);
  ExpectWithin2Percent(BusBandwidthOverAll(Of("a100x8", 4), ir::CollectiveKind::kAllReduce, 4 * kGiB), 218);
  ExpectWithin2Percent(BusBandwidthOverAll(Of("a100x8", 8), ir::CollectiveKind::kAllReduce, 4 * kGiB), 227);
}

TEST(CollectiveSecondsTest, A100RampsUp) {
  const Cluster a100 = Of("a100x8", 8);
  const std::pair<int64_t, double> measured[] = {{1, 20}, {4, 77}, {16, 126}, {64, 203}, {256, 217}, {1024, 229}};
  for (const auto& [mebibytes, bandwidth] : measured) {
    ExpectWithin2Percent(BusBandwidthOverAll(a100, ir::CollectiveKind::kAllReduce, mebibytes * kMiB), bandwidth);
  }
}

TEST(CollectiveSecondsTest, V100GroupsFollowLatencyAndBandwidth) {
  const std::tuple<int64_t, double, double> fits[] = {{2, 24e-6, 23e9}, {4, 45e-6, 86e9}, {8, 76e-6, 136e9}};
  for (const auto& [ranks, latency, bandwidth] : fits) {
    for (int64_t bytes : {kMiB, 64 * kMiB, kGiB}) {
      const double n = static_cast<double>(ranks);
      const double fitted = latency + 2 * (n - 1) / n * static_cast<double>(bytes) / bandwidth;
      EXPECT_NEAR(SecondsOverAll(Of("v100x8", ranks), ir::CollectiveKind::kAllReduce, bytes), fitted, 1e-9);
    }
  }
}

TEST(CollectiveSecondsTest, H200ReducesInTheSwitchFromFiveDevices) {
  const Cluster h200 = Of("h200x8", 8);
  ExpectWithin2Percent(BusBandwidthOverAll(h200, ir::CollectiveKind::kAllReduce, 16 * kGiB), 482);
  ExpectWithin2Percent(BusBandwidthOverAll(h200, ir::CollectiveKind::kAllGather, 16 * kGiB), 362);
  ExpectWithin2Percent(BusBandwidthOverAll(h200, ir::CollectiveKind::kReduceScatter, 16 * kGiB), 362);
  Cluster by_ring = h200;
  by_ring.links[0].switch_reduction.reset();
  ExpectWithin2Percent(BusBandwidthOverAll(by_ring, ir::CollectiveKind::kAllReduce, 16 * kGiB), 368);
  ExpectWithin2Percent(BusBandwidthOverAll(Of("h200x8", 5), ir::CollectiveKind::kAllReduce, 16 * kGiB), 482);
  EXPECT_LT(BusBandwidthOverAll(Of("h200x8", 4), ir::CollectiveKind::kAllReduce, 16 * kGiB), 368);
}

TEST(CollectiveSecondsTest, H100RingsOverHosts) {
  // Bytes of the tensor per second. An all-reduce sends the tensor twice.
  const auto rate = [](ir::CollectiveKind kind) {
    const Cluster cluster = Of("h100x8", 512);
    return static_cast<double>(64 * kGiB) / SecondsOverAll(cluster, kind, 64 * kGiB) / 1e9;
  };
  ExpectWithin2Percent(rate(ir::CollectiveKind::kAllReduce), 195);
  ExpectWithin2Percent(rate(ir::CollectiveKind::kAllGather), 390);
  ExpectWithin2Percent(rate(ir::CollectiveKind::kReduceScatter), 390);
  for (int64_t hosts : {2, 4, 8, 16}) {
    const double before = SecondsOverAll(Of("h100x8", 8 * hosts), ir::CollectiveKind::kAllReduce, 1024);
    const double after = SecondsOverAll(Of("h100x8", 16 * hosts), ir::CollectiveKind::kAllReduce, 1024);
    ExpectWithin2Percent(after - before, 150e-6);
  }
}

TEST(CollectiveSecondsTest, StagesWinOverARingWhereFewRanksShareANetwork) {
  // Two ranks per host on two hosts: reduce-scatter within hosts, all-reduce of half over the network, all-gather
  // within hosts.
  const Cluster cluster = Of("h100x8", 16);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  const double bytes = 8e9;
  const double within = 362.0 / 368 * 193.0 / 227 * 368e9, network = 0.975 * 50e9;
  const double staged = 2 * (46e-6 + 0.5 * bytes / within) + 150e-6 + 2 * 0.5 * (bytes / 2) / network;
  const double ring = 2 * 0.75 * bytes / (2 * network);
  ASSERT_LT(staged, ring);
  EXPECT_NEAR(CollectiveSeconds(cluster, mesh, ir::CollectiveKind::kAllReduce, {ir::AxisId(0), ir::AxisId(3)},
                                Bytes(static_cast<int64_t>(bytes)))
                  .value(),
              staged, 1e-6 * staged);
}

TEST(CollectiveSecondsTest, AnAllToAllIsBoundByItsSlowestLink) {
  const Cluster cluster = Of("h100x8", 32);
  const double bytes = 1e9;
  const double farther = (32.0 - 8) / 32 * bytes / (0.975 * 50e9);
  EXPECT_NEAR(SecondsOverAll(cluster, ir::CollectiveKind::kAllToAll, static_cast<int64_t>(bytes)),
              farther + 79e-6 + 300e-6, 1e-9);
}

TEST(CollectiveSecondsTest, PairsUseTheSlowestLink) {
  const Cluster cluster = Of("h100x8", 16);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  const auto seconds = [&](ir::AxisList axes) {
    return CollectiveSeconds(cluster, mesh, ir::CollectiveKind::kPermute, axes, Bytes(1'000'000'000)).value();
  };
  EXPECT_NEAR(seconds({ir::AxisId(0)}), 150e-6 + 1e9 / (0.975 * 50e9), 1e-9);
  EXPECT_NEAR(seconds({ir::AxisId(0), ir::AxisId(1)}), 150e-6 + 1e9 / (0.975 * 50e9), 1e-9);
  EXPECT_LT(seconds({ir::AxisId(1)}), 0.2 * seconds({ir::AxisId(0)}));
}

TEST(CollectiveSecondsTest, NobodyToTalkToTakesNothing) {
  const Cluster cpu = CpuCluster(1);
  EXPECT_EQ(SecondsOverAll(cpu, ir::CollectiveKind::kAllReduce, kMiB), 0);
}

TEST(CollectiveSecondsTest, MoreBytesNeverTakeLess) {
  for (const std::string& preset : PresetNames()) {
    for (int64_t devices : {2, 4, 8, 16, 64}) {
      const Cluster cluster = Of(preset, devices);
      double before = 0;
      for (int64_t bytes = 1024; bytes <= 4 * kGiB; bytes += bytes / 4) {
        const double seconds = SecondsOverAll(cluster, ir::CollectiveKind::kAllReduce, bytes);
        EXPECT_GE(seconds, before) << preset << " " << devices << " " << bytes;
        before = seconds;
      }
    }
  }
}

double MatMulSeconds(const Cluster& cluster, int64_t size) {
  const ir::TensorType square{ir::DType::kF32, {size, size}};
  const ir::Attributes attributes = {{ir::attribute::kTransposeA, false}, {ir::attribute::kTransposeB, false}};
  return OpSeconds(cluster, ir::DefinitionOf(ir::OpKind::kMatmul), {square, square}, square, attributes).value();
}

TEST(OpSecondsTest, ProductsGetMoreEfficientWithSize) {
  const Cluster a100 = Of("a100x8", 1);
  // 2 * 4096^3 = 137 GFLOP reach the best share that has been measured, and so do 2 * 2000^3 = 16 GFLOP. Below that the
  // share falls linearly to 0.6 at 1 GFLOP.
  EXPECT_NEAR(MatMulSeconds(a100, 4096), 2 * 4096.0 * 4096 * 4096 / (0.87 * 156e12), 1e-9);
  EXPECT_NEAR(MatMulSeconds(a100, 2000), 16e9 / (0.87 * 156e12), 1e-9);
  EXPECT_NEAR(MatMulSeconds(a100, 1000), 2e9 / ((0.6 + (0.87 - 0.6) / 15) * 156e12), 1e-9);
  EXPECT_EQ(MatMulSeconds(a100, 16), 7e-6);
}

TEST(OpSecondsTest, TheTypeOfTheFactorsSaysHowFastAProductIs) {
  const Cluster a100 = Of("a100x8", 1);
  const ir::TensorType factor{ir::DType::kBf16, {4096, 4096}};
  for (const ir::DType result : {ir::DType::kBf16, ir::DType::kF32}) {
    const ir::TensorType product{result, {4096, 4096}};
    const ir::Attributes attributes = {{ir::attribute::kTransposeA, false}, {ir::attribute::kTransposeB, false}};
    EXPECT_NEAR(OpSeconds(a100, ir::DefinitionOf(ir::OpKind::kMatmul), {factor, factor}, product, attributes).value(),
                2 * 4096.0 * 4096 * 4096 / (0.87 * 312e12), 1e-9);
  }
}

TEST(OpSecondsTest, LargerProductsNeverTakeLess) {
  for (const std::string& preset : PresetNames()) {
    const Cluster cluster = Of(preset, 1);
    double before = 0;
    for (int64_t size = 16; size < 20000; size += size / 8) {
      const double seconds = MatMulSeconds(cluster, size);
      EXPECT_GE(seconds, before) << preset << " " << size;
      before = seconds;
    }
  }
}

TEST(OpSecondsTest, LightOpsMoveBytes) {
  const Cluster a100 = Of("a100x8", 1);
  const ir::TensorType type{ir::DType::kF32, {1 << 14, 1 << 14}};
  EXPECT_DOUBLE_EQ(OpSeconds(a100, ir::DefinitionOf(ir::OpKind::kRelu), {type}, type, {}).value(),
                   2.0 * 4 * (1 << 28) / 2e12);
  EXPECT_EQ(OpSeconds(a100, ir::DefinitionOf(ir::OpKind::kParameter), {}, type, {}).value(), 0);
}

// On a CPU whose loops do 1e9 operations in a second, with memory that is never waited for.
Cluster FastMemory() {
  Cluster cluster = CpuCluster(1);
  cluster.peak = {.f32 = 1e10, .loops = 1e9};
  cluster.memory_bytes_per_second = 1e15;
  cluster.caches = {};
  cluster.kernel_floor = Seconds(0);
  return cluster;
}

double RowSeconds(ir::OpKind kind, int64_t rows, int64_t columns) {
  const ir::TensorType type{ir::DType::kF32, {rows, columns}};
  return OpSeconds(FastMemory(), ir::DefinitionOf(kind), {type}, type, {}).value();
}

TEST(OpSecondsTest, LoopsOfACpuHaveARateOfTheirOwn) {
  const ir::TensorType type{ir::DType::kF32, {1 << 20}};
  const auto seconds = [&](const Cluster& cluster, ir::OpKind kind) {
    return OpSeconds(cluster, ir::DefinitionOf(kind), {type}, type, {}).value();
  };
  EXPECT_NEAR(seconds(FastMemory(), ir::OpKind::kExp), 10 * (1 << 20) / 1e9, 1e-9);
  EXPECT_NEAR(seconds(FastMemory(), ir::OpKind::kTanh), 490 * (1 << 20) / 1e9, 1e-9) << "a call for each element";
  Cluster gpu = FastMemory();
  gpu.peak.loops = 0;
  EXPECT_NEAR(seconds(gpu, ir::OpKind::kTanh), 10 * (1 << 20) / 1e10, 1e-9);
}

TEST(OpSecondsTest, ShortRowsTakeLongerOnACpu) {
  // 15 operations an element, and 400 a row; what fills no vector of 16 takes the time of one for each element.
  EXPECT_NEAR(RowSeconds(ir::OpKind::kSoftmax, 100, 64), 100 * (15 * 64 + 400) / 1e9, 1e-12);
  EXPECT_NEAR(RowSeconds(ir::OpKind::kSoftmax, 100, 65), 100 * (15 * (64 + 16) + 400) / 1e9, 1e-12);
  EXPECT_NEAR(RowSeconds(ir::OpKind::kSoftmax, 100, 4), 100 * (15 * 4 * 16 + 400) / 1e9, 1e-12);
  EXPECT_EQ(RowSeconds(ir::OpKind::kSoftmax, 0, 4), 0);
}

double AttentionSeconds(const Cluster& cluster, int64_t length, bool causal) {
  const ir::TensorType type{ir::DType::kF32, {1, 1, length, 64}};
  const ir::OpDefinition& attention = ir::DefinitionOf(ir::OpKind::kAttention);
  ir::Attributes attributes;
  for (const ir::Argument& argument : attention.signature) {
    if (argument.default_value.has_value()) attributes.SetNamed(argument.name, *argument.default_value);
  }
  attributes.Set(ir::attribute::kCausal, causal);
  return OpSeconds(cluster, attention, {type, type, type}, type, attributes).value();
}

TEST(OpSecondsTest, SmallAttentionReachesLessOnACpu) {
  const Cluster cluster = FastMemory();
  const auto ideal = [](int64_t length) { return 4.0 * 64 * static_cast<double>(length * length) / 1e10; };
  EXPECT_NEAR(AttentionSeconds(cluster, 64, false) / ideal(64), 104.0 / 64 / 0.6, 1e-9);
  EXPECT_NEAR(AttentionSeconds(cluster, 64, true) / ideal(64), 104.0 / 64 / 0.6, 1e-9) << "a tile at the edge";
  EXPECT_NEAR(AttentionSeconds(cluster, 4096, true) / ideal(4096), 0.5 / 0.6, 0.05);
  EXPECT_NEAR(AttentionSeconds(cluster, 8, false), AttentionSeconds(cluster, 16, false) * 0.25 * 2 * 4 * 48 / 56, 1e-9);
  double before = 0;
  for (int64_t length = 16; length <= 4096; length *= 2) {
    const double seconds = AttentionSeconds(cluster, length, false);
    EXPECT_GT(seconds, before);
    before = seconds;
  }
}

TEST(MoveSecondsTest, PricesWhatTheRankSendsOrGets) {
  const Cluster cluster = Of("v100x8", 8);
  const ir::Mesh mesh = MeshOfCluster(cluster);
  const ir::TensorType type{ir::DType::kF32, {1024, 1024}};
  const ir::Layout whole = ir::Layout::Replicated(2), rows{.dimensions = {mesh.AxisIds(), {}}, .partial = {}};
  const ir::Layout columns{.dimensions = {{}, mesh.AxisIds()}, .partial = {}};
  const auto seconds = [&](const ir::Layout& from, const ir::Layout& to) {
    const absl::StatusOr<ir::Redistribution> way = ir::PlanRedistribution(mesh, type, from, to);
    EXPECT_TRUE(way.ok());
    return RedistributionSeconds(cluster, mesh, type, from, *way).value();
  };
  EXPECT_NEAR(seconds(rows, whole), 76e-6 + 7.0 / 8 * 4 * kMiB / 136e9, 1e-12);
  EXPECT_NEAR(seconds(rows, columns), 76e-6 + 7.0 / 8 * 0.5 * kMiB / 136e9, 1e-12);
  EXPECT_EQ(seconds(whole, rows), 0);
  ir::Layout sums = whole;
  for (ir::AxisId axis : mesh.AxisIds()) sums.partial.push_back({.axis = axis});
  EXPECT_NEAR(seconds(sums, whole), 76e-6 + 2 * 7.0 / 8 * 4 * kMiB / 136e9, 1e-12);
  EXPECT_NEAR(seconds(sums, rows), 76e-6 + 7.0 / 8 * 4 * kMiB / 136e9, 1e-12);
}

TEST(SeenByStepTest, WhatFitsIntoACacheIsFaster) {
  Cluster cluster = CpuCluster(2);
  cluster.memory_bytes_per_second = 1e9;
  cluster.caches = {{.bytes = Bytes(100), .bytes_per_second = 8e9}, {.bytes = Bytes(1000), .bytes_per_second = 2e9}};
  const auto rate = [&](int64_t bytes) { return SeenByStep(cluster, Bytes(bytes)).memory_bytes_per_second; };
  EXPECT_EQ(rate(100), 8e9);
  EXPECT_EQ(rate(101), 2e9);
  EXPECT_EQ(rate(1000), 2e9);
  EXPECT_EQ(rate(1001), 1e9);
}

TEST(OverlapLossTest, IsThePartOfTheSpeedThatIsLost) {
  Cluster cluster = CpuCluster(2);
  EXPECT_EQ(OverlapLoss(cluster, Seconds(6)).value(), 0);
  cluster.overlap_slowdown = 1.2;
  EXPECT_DOUBLE_EQ(OverlapLoss(cluster, Seconds(6)).value(), 1);
}

}  // namespace
}  // namespace cleave::search
