#include "tools/calibrate/fit.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "ir/sharding/mesh/mesh.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/time.h"
#include "tools/calibrate/check.h"
#include "tools/calibrate/measurements.h"

namespace cleave::tools {
namespace {

TimedCalls Times(double seconds, int64_t repetitions = 10) {
  return {.least = Seconds(seconds),
          .median = Seconds(1.1 * seconds),
          .upper_quartile = Seconds(1.5 * seconds),
          .repetitions = repetitions};
}

// All-reduces of 1 KiB to 64 MiB that take exactly latency + traffic / bandwidth.
std::vector<MeasuredCollective> Exact(int64_t ranks, double latency, double bandwidth, const char* link = "host") {
  std::vector<MeasuredCollective> measured;
  for (int64_t bytes = 1024; bytes <= 64 << 20; bytes *= 4) {
    const double n = static_cast<double>(ranks);
    const double traffic = 2 * (n - 1) / n * static_cast<double>(bytes);
    measured.push_back(
        {.link = link, .ranks = ranks, .bytes = Bytes(bytes), .times = Times(latency + traffic / bandwidth)});
  }
  return measured;
}

void Slow(TimedCalls& times, double factor) { times = Times(times.least.value() * factor, times.repetitions); }

TEST(FitGroupTest, FindsWhatTheTimesWereMadeOf) {
  const search::GroupRate rate = FitGroup(Exact(4, 5e-6, 4e9));
  EXPECT_EQ(rate.ranks, 4);
  EXPECT_NEAR(rate.latency.value(), 5e-6, 1e-12);
  EXPECT_NEAR(rate.bytes_per_second, 4e9, 1);
}

TEST(FitGroupTest, LatencyIsNeverNegative) {
  // Small messages are faster than in proportion to their size.
  std::vector<MeasuredCollective> measured = Exact(2, 0, 1e9);
  Slow(measured.front().times, 0.5);
  const search::GroupRate rate = FitGroup(measured);
  EXPECT_EQ(rate.latency.value(), 0);
  EXPECT_GT(rate.bytes_per_second, 1e9);
  EXPECT_LT(rate.bytes_per_second, 2e9);
}

MeasuredProduct Product(const char* type, int64_t size, double flops_per_second) {
  MeasuredProduct product{.type = type, .size = size, .times = {}};
  product.times = Times(product.flops().value() / flops_per_second);
  return product;
}

// Two ranks are as fast as four.
Measurements Sample() {
  Measurements sample{.ranks = std::vector<MeasuredRank>(4, {.host = "a", .device = "", .memory = Bytes(1 << 30)}),
                      .collectives = Exact(2, 3e-6, 5e9),
                      .products = {},
                      .memory = {}};
  for (const MeasuredCollective& measured : Exact(4, 5e-6, 4e9)) sample.collectives.push_back(measured);
  Slow(sample.collectives.back().times, 1.5);  // The data no longer fits into the caches.
  sample.products = {Product("f32", 16, 1e9), Product("f32", 64, 1e11), Product("f32", 1024, 2e11)};
  sample.memory = {{.bytes = Bytes(1 << 20), .times = Times((1 << 20) / 4e10)},
                   {.bytes = Bytes(1 << 22), .times = Times((1 << 22) / 1.1e10)},
                   {.bytes = Bytes(1 << 28), .times = Times((1 << 28) / 1e10)}};
  return sample;
}

constexpr char kName[] = "here";
MeasuredHow Here() { return {.name = kName, .hosts = 1, .ranks_on_host = 4}; }

search::Cluster ClusterOf(const Measurements& sample) { return CalibrationFrom(sample, Here()).machines.host; }

// What is written is read again, with every comment on something that is there.
void ExpectFile(const Calibration& calibration) {
  const std::string text = search::ClusterJson(calibration.machines, calibration.notes);
  const absl::StatusOr<search::Machines> again = search::ParseClusterJson(text);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ(again->hosts, calibration.machines.hosts);
}

TEST(CalibrationFromTest, IsSoundAndReproducesTheLargestGroup) {
  const Measurements sample = Sample();
  const Calibration calibration = CalibrationFrom(sample, Here());
  ExpectFile(calibration);
  const search::Cluster& cluster = calibration.machines.host;
  EXPECT_EQ(search::VerifyCluster(cluster), std::vector<std::string>{});
  const ir::Mesh mesh = search::MeshOfCluster(cluster);
  for (const MeasuredCollective& measured : sample.collectives) {
    if (measured.ranks != 4) continue;
    const Seconds predicted = search::CollectiveSeconds(cluster, mesh, measured.kind, mesh.AxisIds(), measured.bytes);
    EXPECT_NEAR(predicted.value() / measured.times.least.value(), 1, 1e-9) << measured.bytes.value();
  }
}

TEST(CalibrationFromTest, EfficiencyRisesToThePeak) {
  const search::Cluster cluster = ClusterOf(Sample());
  EXPECT_DOUBLE_EQ(cluster.peak.f32, 2e11);
  EXPECT_DOUBLE_EQ(cluster.kernel_floor.value(), 5.24288e-6);  // Of 64 rows.
  EXPECT_DOUBLE_EQ(cluster.matrix_efficiency[1].share, 0.5);
  EXPECT_DOUBLE_EQ(cluster.matrix_efficiency.back().share, 1);
  EXPECT_EQ(
      cluster.caches,
      (std::vector<search::Cache>{{.bytes = Bytes(1 << 20), .bytes_per_second = cluster.caches[0].bytes_per_second}}));
  EXPECT_NEAR(cluster.caches[0].bytes_per_second, 4e10, 1);
}

TEST(CalibrationFromTest, OneWayCollectivesHaveTheirOwnRatio) {
  Measurements sample = Sample();
  EXPECT_EQ(ClusterOf(sample).links[0].one_way_ratio, 1);
  const MeasuredCollective largest = sample.collectives.back();
  for (ir::CollectiveKind kind : {ir::CollectiveKind::kAllGather, ir::CollectiveKind::kReduceScatter}) {
    MeasuredCollective half = largest;
    half.kind = kind;
    sample.collectives.push_back(half);
  }
  // Half the traffic in the same time.
  EXPECT_DOUBLE_EQ(ClusterOf(sample).links[0].one_way_ratio, 0.5);
}

// Half precision counts only where it is faster.
TEST(CalibrationFromTest, SlowTypesHaveNoPeak) {
  Measurements sample = Sample();
  sample.products.push_back(Product("bf16", 1024, 1e11));
  Calibration calibration = CalibrationFrom(sample, Here());
  EXPECT_EQ(calibration.machines.host.peak.bf16, 0);
  ExpectFile(calibration);
  sample.products.push_back(Product("bf16", 2048, 4e11));
  EXPECT_DOUBLE_EQ(ClusterOf(sample).peak.bf16, 4e11);
  // With products of bf16, too, it is a CPU.
  EXPECT_DOUBLE_EQ(ClusterOf(sample).peak.loops, search::kLoopsOfProducts * 2e11);
}

TEST(CalibrationFromTest, DescribesGpus) {
  Measurements sample = Sample();
  sample.products.push_back(Product("bf16", 64, 1e12));
  sample.products.push_back(Product("bf16", 4096, 8e12));
  sample.kernel = Times(2e-6);
  sample.host_copies = {{.bytes = Bytes(1 << 26), .times = Times((1 << 26) / 2e10)},
                        {.bytes = Bytes(1 << 26), .times = Times((1 << 26) / 1e10)}};
  // Of the 10 ms in which something is sent, products lose 2.
  sample.overlap = {
      .bytes = Bytes(1 << 28), .communication = Times(0.01), .computation = Times(0.015), .both = Times(0.017)};
  MeasuredHow how = Here();
  how.target = "cuda";
  const Calibration calibration = CalibrationFrom(sample, how);
  ExpectFile(calibration);
  const search::Cluster& cluster = calibration.machines.host;
  EXPECT_EQ(cluster.kernel_floor, Seconds(2e-6));
  EXPECT_DOUBLE_EQ(cluster.host_bytes_per_second, 1e10);
  EXPECT_DOUBLE_EQ(cluster.overlap_slowdown, 1.25);
  EXPECT_EQ(cluster.caches.size(), 0u);
  EXPECT_DOUBLE_EQ(cluster.matrix_efficiency.front().share, 0.125);
}

TEST(CalibrationFromTest, HostsHaveANetwork) {
  Measurements sample = Sample();
  for (size_t i = 0; i < 4; ++i) sample.ranks.push_back({.host = "b", .device = "", .memory = Bytes(1 << 29)});
  for (const MeasuredCollective& measured : Exact(2, 4e-5, 1e9, "network")) sample.collectives.push_back(measured);
  for (const MeasuredCollective& measured : Exact(8, 5e-5, 5e8, "all")) sample.collectives.push_back(measured);
  MeasuredHow how = Here();
  how.hosts = 2;
  Calibration calibration = CalibrationFrom(sample, how);
  ExpectFile(calibration);
  EXPECT_EQ(calibration.notes.hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_NEAR(calibration.machines.network.latency.value(), 4e-5, 1e-9);
  EXPECT_NEAR(calibration.machines.network.bytes_per_second, 1e9, 1);
  EXPECT_EQ(calibration.machines.host.memory_per_device, Bytes(1 << 29));
  size_t across = 0;
  for (const CheckedTimes& checked : CheckTimes(calibration.machines, sample)) {
    if (checked.what == "all_reduce of 2 by network") EXPECT_NEAR(MedianRatio(checked.ratios), 1, 1e-9);
    if (checked.what == "all_reduce of 8 by all") across += checked.is_fitted ? 0 : checked.ratios.size();
  }
  EXPECT_EQ(across, 9u);
  // A network that was as fast as memory is not listed as the faster link.
  for (MeasuredCollective& measured : sample.collectives) {
    if (measured.link == "network") Slow(measured.times, 0.01);
  }
  calibration = CalibrationFrom(sample, how);
  ExpectFile(calibration);
}

TEST(CalibrationFromTest, OneRankSendsNothing) {
  Measurements sample = Sample();
  sample.collectives.clear();
  sample.ranks.resize(1);
  MeasuredHow how = Here();
  how.ranks_on_host = 1;
  const Calibration calibration = CalibrationFrom(sample, how);
  ExpectFile(calibration);
  EXPECT_EQ(calibration.machines.devices(), 1);
}

TEST(CheckTest, SaysWhatIsDisturbed) {
  Measurements sample = Sample();
  EXPECT_FALSE(AreDisturbed(sample));
  for (MeasuredCollective& measured : sample.collectives) measured.times.median = measured.times.least * 2.5;
  EXPECT_TRUE(AreDisturbed(sample));
}

TEST(CheckTest, SaysWhatIsFarFromOne) {
  EXPECT_EQ(MedianRatio({3, 1, 2}), 2);
  EXPECT_EQ(WorstRatio({1.5, 0.5, 1.9}), 0.5);
  EXPECT_TRUE(
      absl::StrContains(CheckText({{.what = "all_reduce of 2 by host", .is_fitted = true, .ratios = {1, 1.25}}}),
                        "fitted: predicted / measured 1.25 in the middle, 1.25 at worst, of 2"));
}

TEST(ParseMeasurementsTest, RefusesWhatIsNotComplete) {
  constexpr char kRank[] = R"({"rank":0,"host":"a","device":"","memory":1024,"threads":1})";
  constexpr char kProduct[] =
      R"({"what":"product","of":"f32","ranks":1,"size":8,"least":1e-6,"median":2e-6,"upper_quartile":3e-6,"repetitions":4})";
  const std::string memory = R"({"what":"memory","of":"f32","ranks":1,"size":262144,"least":1e-6,"median":2e-6,)"
                             R"("upper_quartile":3e-6,"repetitions":4})";
  const auto message = [](const std::string& text) { return std::string(ParseMeasurements(text).status().message()); };
  const std::string all = std::string(kRank) + "\n" + kProduct + "\n" + memory + "\n";
  EXPECT_EQ(message(all), "");
  EXPECT_EQ(message(std::string(kRank) + "\n" + kProduct + "\n"), "the measurements are not complete");
  EXPECT_EQ(
      message(
          all +
          R"({"what":"all_reduce","of":"host","ranks":2,"size":8,"least":0,"median":1,"upper_quartile":1,"repetitions":3})"),
      "line 4.least: expected a time above 0");
  EXPECT_FALSE(ParseMeasurements(all + "{").ok());
}

}  // namespace
}  // namespace cleave::tools
