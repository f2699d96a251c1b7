// Collectives over one kind of link have a latency and a bandwidth by group size (link_time.h). Over several kinds a
// library has two ways: one ring through all ranks, which is as slow as the slowest link, or link by link: first the
// fastest link with the whole tensor, then each slower one with the part that is left. The faster way is taken. An
// all-to-all goes over all links at once. Linear in the number of links.
#include <algorithm>
#include <vector>

#include "base/check/check.h"
#include "search/price/cost/link_time.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

// The part of a group on one kind of link.
struct Level {
  const Link* link = nullptr;
  int64_t ranks = 1;
};

// Fastest first, those with more than one rank only.
std::vector<Level> LevelsOf(const Cluster& cluster, const ir::Mesh& mesh, absl::Span<const ir::AxisId> axes) {
  std::vector<Level> levels;
  for (auto link = cluster.links.rbegin(); link != cluster.links.rend(); ++link) {
    Level level{.link = &*link};
    for (ir::AxisId axis : axes) {
      if (mesh.axis(axis).link == link->name) level.ranks *= mesh.axis(axis).size;
    }
    if (level.ranks > 1) levels.push_back(level);
  }
  return levels;
}

int64_t RanksOf(const std::vector<Level>& levels) {
  int64_t ranks = 1;
  for (const Level& level : levels) ranks *= level.ranks;
  return ranks;
}

double LatencyOf(const std::vector<Level>& levels) {
  double latency = 0;
  for (const Level& level : levels) latency += GroupLatency(*level.link, level.ranks);
  return latency;
}

// A ring crosses a slow link once for all ranks behind the link. They share it, so it is as fast as their parts of it
// together.
double RingSeconds(const std::vector<Level>& levels, ir::CollectiveKind kind, double bytes) {
  const Level* slowest = nullptr;
  double least = 0, bandwidth = 0;
  int64_t behind = 1;
  for (const Level& level : levels) {
    const double shared = static_cast<double>(behind) * level.link->bytes_per_second;
    if (slowest == nullptr || shared < least) {
      slowest = &level;
      least = shared;
      bandwidth = static_cast<double>(behind) * BusBandwidth(*level.link, level.ranks, kind);
    }
    behind *= level.ranks;
  }
  const double seconds = LatencyOf(levels) + BusTraffic(kind, RanksOf(levels), bytes) / bandwidth;
  return seconds * RampFactor(*slowest->link, bytes);
}

// An all-reduce scatters on the way out, and gathers on the way back.
double StagedSeconds(const std::vector<Level>& levels, ir::CollectiveKind kind, double bytes) {
  double seconds = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const Level& level = levels[i];
    if (kind == ir::CollectiveKind::kAllReduce && i + 1 < levels.size()) {
      seconds += LinkSeconds(*level.link, level.ranks, ir::CollectiveKind::kReduceScatter, bytes) +
                 LinkSeconds(*level.link, level.ranks, ir::CollectiveKind::kAllGather, bytes);
    } else {
      seconds += LinkSeconds(*level.link, level.ranks, kind, bytes);
    }
    bytes /= static_cast<double>(level.ranks);
  }
  return seconds;
}

// Each link carries what goes to ranks that no faster link reaches.
double AllToAllSeconds(const std::vector<Level>& levels, double bytes) {
  const auto ranks = static_cast<double>(RanksOf(levels));
  double longest = 0, reached = 1;
  for (const Level& level : levels) {
    const double farther = reached * static_cast<double>(level.ranks);
    const double seconds =
        (farther - reached) / ranks * bytes / BusBandwidth(*level.link, level.ranks, ir::CollectiveKind::kAllToAll);
    longest = std::max(longest, seconds * RampFactor(*level.link, bytes));
    reached = farther;
  }
  return LatencyOf(levels) + longest;
}

// Between two ranks, over the slowest link.
double PairSeconds(const std::vector<Level>& levels, ir::CollectiveKind kind, double bytes) {
  const Level& slowest = levels.back();
  return GroupLatency(*slowest.link, 2) + bytes / BusBandwidth(*slowest.link, slowest.ranks, kind);
}

double SecondsOf(const std::vector<Level>& levels, ir::CollectiveKind kind, double bytes) {
  if (levels.empty()) return 0;
  switch (kind) {
    case ir::CollectiveKind::kAllReduce:
    case ir::CollectiveKind::kAllGather:
    case ir::CollectiveKind::kReduceScatter:
      return std::min(RingSeconds(levels, kind, bytes), StagedSeconds(levels, kind, bytes));
    case ir::CollectiveKind::kBroadcast:
      return RingSeconds(levels, kind, bytes);
    case ir::CollectiveKind::kAllToAll:
      return AllToAllSeconds(levels, bytes);
    case ir::CollectiveKind::kPermute:
    case ir::CollectiveKind::kNeighborExchange:
    case ir::CollectiveKind::kSendReceive:
    case ir::CollectiveKind::kNeighborExchangeV2:
      return PairSeconds(levels, kind, bytes);
  }
  CLEAVE_UNREACHABLE();
}

}  // namespace

Seconds CollectiveSeconds(const Cluster& cluster, const ir::Mesh& mesh, ir::CollectiveKind kind,
                          absl::Span<const ir::AxisId> axes, Bytes bytes) {
  const std::vector<Level> levels = LevelsOf(cluster, mesh, axes);
  CLEAVE_CHECK(RanksOf(levels) == mesh.Size(axes)) << "an axis crosses a link that the cluster does not have";
  return Seconds(SecondsOf(levels, kind, static_cast<double>(bytes.value())));
}

}  // namespace cleave::search
