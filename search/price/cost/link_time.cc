#include "search/price/cost/link_time.h"

#include <algorithm>

#include "base/check/check.h"

namespace cleave::search {
namespace {

// The logarithm to the base 2 of `ratio`, linear between powers of two; 0 below 1.
double Doublings(double ratio) {
  double doublings = 0;
  while (ratio >= 2) {
    ratio /= 2;
    ++doublings;
  }
  return ratio > 1 ? doublings + ratio - 1 : doublings;
}

double Between(double x, double x0, double y0, double x1, double y1) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

// The first group of at least `ranks`, or the end.
std::vector<GroupRate>::const_iterator GroupFrom(const Link& link, int64_t ranks) {
  return std::find_if(link.groups.begin(), link.groups.end(),
                      [&](const GroupRate& group) { return group.ranks >= ranks; });
}

double RingBandwidth(const Link& link, int64_t ranks) {
  if (link.groups.empty()) return link.bytes_per_second;
  const auto above = GroupFrom(link, ranks);
  if (above == link.groups.end()) return link.groups.back().bytes_per_second;
  if (above == link.groups.begin()) return above->bytes_per_second;
  const GroupRate& below = *(above - 1);
  return Between(static_cast<double>(ranks), static_cast<double>(below.ranks), below.bytes_per_second,
                 static_cast<double>(above->ranks), above->bytes_per_second);
}

double WithoutRamp(const Link& link, int64_t ranks, ir::CollectiveKind kind, double bytes) {
  return GroupLatency(link, ranks) + BusTraffic(kind, ranks, bytes) / BusBandwidth(link, ranks, kind);
}

// The measured time relative to the formula, at one point of the ramp.
double FactorAt(const Link& link, const RampPoint& point) {
  constexpr ir::CollectiveKind kKind = ir::CollectiveKind::kAllReduce;
  const auto bytes = static_cast<double>(point.bytes.value());
  const double measured = BusTraffic(kKind, link.ramp.ranks, bytes) / point.bytes_per_second;
  return measured / WithoutRamp(link, link.ramp.ranks, kKind, bytes);
}

}  // namespace

double GroupLatency(const Link& link, int64_t ranks) {
  const auto size = static_cast<double>(ranks);
  const double doubling = link.latency_per_doubling.value();
  if (link.groups.empty()) return link.latency.value() + doubling * Doublings(size / 2);
  const auto above = GroupFrom(link, ranks);
  if (above == link.groups.end()) {
    const GroupRate& last = link.groups.back();
    return last.latency.value() + doubling * Doublings(size / static_cast<double>(last.ranks));
  }
  if (above == link.groups.begin()) return above->latency.value();
  const GroupRate& below = *(above - 1);
  return Between(size, static_cast<double>(below.ranks), below.latency.value(), static_cast<double>(above->ranks),
                 above->latency.value());
}

double BusBandwidth(const Link& link, int64_t ranks, ir::CollectiveKind kind) {
  const double ring = RingBandwidth(link, ranks);
  switch (kind) {
    case ir::CollectiveKind::kAllReduce: {
      const bool by_switch = link.switch_reduction.has_value() && ranks >= link.switch_reduction->from_ranks;
      return by_switch ? std::max(ring, link.switch_reduction->bytes_per_second) : ring;
    }
    case ir::CollectiveKind::kAllGather:
    case ir::CollectiveKind::kReduceScatter:
      return ring * link.one_way_ratio;
    case ir::CollectiveKind::kAllToAll:
    case ir::CollectiveKind::kBroadcast:
    case ir::CollectiveKind::kPermute:
    case ir::CollectiveKind::kNeighborExchange:
    case ir::CollectiveKind::kSendReceive:
    case ir::CollectiveKind::kNeighborExchangeV2:
      return ring;
  }
  CLEAVE_UNREACHABLE();
}

double RampFactor(const Link& link, double bytes) {
  const std::vector<RampPoint>& points = link.ramp.points;
  if (points.empty()) return 1;
  const auto above = std::find_if(points.begin(), points.end(), [&](const RampPoint& point) {
    return static_cast<double>(point.bytes.value()) >= bytes;
  });
  if (above == points.end()) return FactorAt(link, points.back());
  if (above == points.begin()) return FactorAt(link, points.front());
  const RampPoint& below = *(above - 1);
  return Between(bytes, static_cast<double>(below.bytes.value()), FactorAt(link, below),
                 static_cast<double>(above->bytes.value()), FactorAt(link, *above));
}

double BusTraffic(ir::CollectiveKind kind, int64_t ranks, double bytes) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case ir::CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n * bytes;
    case ir::CollectiveKind::kAllGather:
    case ir::CollectiveKind::kReduceScatter:
    case ir::CollectiveKind::kAllToAll:
      return (n - 1) / n * bytes;
    case ir::CollectiveKind::kBroadcast:
    case ir::CollectiveKind::kPermute:
    case ir::CollectiveKind::kNeighborExchange:
    case ir::CollectiveKind::kSendReceive:
    case ir::CollectiveKind::kNeighborExchangeV2:
      return bytes;
  }
  CLEAVE_UNREACHABLE();
}

double LinkSeconds(const Link& link, int64_t ranks, ir::CollectiveKind kind, double bytes) {
  return WithoutRamp(link, ranks, kind, bytes) * RampFactor(link, bytes);
}

}  // namespace cleave::search
