#include "bench/calibrate/fit.h"

#include <algorithm>
#include <set>

namespace cleave::bench {
namespace {

// By the definition of nccl-tests.
double BusBytes(const MeasuredCollective& measured) {
  const auto n = static_cast<double>(measured.ranks);
  const double passes = measured.kind == ir::CollectiveKind::kAllReduce ? 2 : 1;
  return passes * (n - 1) / n * static_cast<double>(measured.bytes.value());
}

double BusBandwidth(const MeasuredCollective& measured) { return BusBytes(measured) / measured.seconds.value(); }

std::vector<MeasuredCollective> Select(const std::vector<MeasuredCollective>& all, ir::CollectiveKind kind,
                                       int64_t ranks) {
  std::vector<MeasuredCollective> selected;
  for (const MeasuredCollective& measured : all) {
    if (measured.kind == kind && measured.ranks == ranks) selected.push_back(measured);
  }
  return selected;
}

// The bus bandwidth of the largest all-gathers and reduce-scatters, relative to the largest all-reduce.
double OneWayRatio(const Measurements& measurements) {
  const auto largest = [&](ir::CollectiveKind kind) {
    const std::vector<MeasuredCollective> all = Select(measurements.collectives, kind, measurements.ranks);
    return all.empty() ? 0 : BusBandwidth(all.back());
  };
  const double gather = largest(ir::CollectiveKind::kAllGather), scatter = largest(ir::CollectiveKind::kReduceScatter);
  const double reduce = largest(ir::CollectiveKind::kAllReduce);
  return gather > 0 && scatter > 0 ? (gather + scatter) / 2 / reduce : 1;
}

search::Link LinkFrom(const Measurements& measurements) {
  search::Link link{.name = "host", .count = measurements.ranks};
  std::set<int64_t> sizes;
  for (const MeasuredCollective& measured : measurements.collectives) sizes.insert(measured.ranks);
  if (sizes.empty()) return link;  // One rank sends nothing.
  for (int64_t ranks : sizes) link.groups.push_back(FitGroup(measurements.collectives, ranks));
  link.bytes_per_second = link.groups.back().bytes_per_second;
  link.latency = link.groups.back().latency;
  link.one_way_ratio = OneWayRatio(measurements);
  link.ramp.ranks = measurements.ranks;
  for (const MeasuredCollective& measured :
       Select(measurements.collectives, ir::CollectiveKind::kAllReduce, measurements.ranks)) {
    link.ramp.points.push_back({.bytes = measured.bytes, .bytes_per_second = BusBandwidth(measured)});
  }
  return link;
}

double RateOf(const MeasuredProduct& product) { return product.flops.value() / product.seconds.value(); }

// Efficiency never falls with size: if a larger product was slower, other work slowed the machine down.
std::vector<search::EfficiencyPoint> EfficiencyFrom(const std::vector<MeasuredProduct>& products, double peak) {
  std::vector<search::EfficiencyPoint> points;
  double best = 0;
  for (const MeasuredProduct& product : products) {
    best = std::max(best, RateOf(product) / peak);
    points.push_back({.flops = product.flops, .share = std::min(best, 1.0)});
  }
  return points;
}

// What fits into a cache is faster by at least this factor than what does not.
constexpr double kFaster = 1.2;

// The rate never rises with the size: if a smaller size was slower, other work slowed the machine down.
std::vector<search::Cache> CachesFrom(const std::vector<MeasuredMemory>& memory) {
  std::vector<search::Cache> caches;
  double rate = memory.back().bytes_per_second * kFaster;
  for (size_t i = memory.size() - 1; i-- > 0;) {
    rate = std::max(rate, memory[i].bytes_per_second);
    if (caches.empty() && memory[i].bytes_per_second < rate) continue;
    caches.insert(caches.begin(), {.bytes = memory[i].bytes, .bytes_per_second = rate});
  }
  return caches;
}

}  // namespace

search::GroupRate FitGroup(const std::vector<MeasuredCollective>& collectives, int64_t ranks) {
  // Least squares of latency * u + per_byte * v = 1, u = 1 / seconds, v = traffic / seconds.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const MeasuredCollective& measured : Select(collectives, ir::CollectiveKind::kAllReduce, ranks)) {
    const double u = 1 / measured.seconds.value(), v = BusBytes(measured) * u;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  double latency = (u1 * vv - v1 * uv) / determinant;
  double per_byte = (uu * v1 - uv * u1) / determinant;
  if (latency < 0) {
    latency = 0;
    per_byte = v1 / vv;
  } else if (per_byte <= 0) {
    // All took about the same time, so the largest one gives a lower bound of the bandwidth.
    per_byte = 1 / v1;
  }
  return {.ranks = ranks, .latency = Seconds(latency), .bytes_per_second = 1 / per_byte};
}

search::Cluster ClusterFrom(const Measurements& measurements, const std::string& name) {
  search::Cluster cluster{.name = name,
                          .links = {LinkFrom(measurements)},
                          .memory_per_device = measurements.memory_per_rank,
                          .peak = {},
                          .memory_bytes_per_second = measurements.memory.back().bytes_per_second,
                          .caches = CachesFrom(measurements.memory),
                          .input_bytes_per_second = measurements.input_bytes_per_second};
  double peak = 0, floor = measurements.products.front().seconds.value();
  for (const MeasuredProduct& product : measurements.products) {
    peak = std::max(peak, RateOf(product));
    floor = std::min(floor, product.seconds.value());
  }
  cluster.peak.f32 = peak;
  cluster.kernel_floor = Seconds(floor);
  cluster.matrix_efficiency = EfficiencyFrom(measurements.products, peak);
  return cluster;
}

}  // namespace cleave::bench
