#include "search/price/cost/reductions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "ir/program/partition/merge.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

// The gradients that ranks of one group add up: those of each pass of a loop of the model, and others.
struct Reductions {
  std::map<ir::TextPlace, std::map<int64_t, Bytes>> layers;
  Bytes others;
  Bytes total;

  // The number of all_reduces with buckets of so many bytes; layers that do not fit into one bucket have separate ones.
  int64_t Count(Bytes bucket) const {
    const auto buckets = [&](Bytes bytes) { return (bytes.value() + bucket.value() - 1) / bucket.value(); };
    Bytes together = others;
    int64_t count = 0;
    for (const auto& [loop, passes] : layers) {
      Bytes all;
      for (const auto& [pass, bytes] : passes) all += bytes;
      if (all <= bucket) {
        together += all;
        continue;
      }
      for (const auto& [pass, bytes] : passes) count += buckets(bytes);
    }
    return std::max<int64_t>(1, count + buckets(together));
  }
};

// A reduction between ranks behind the forward pass, or null.
const ir::Collective* ReductionOf(const ir::Program& program, const ir::Step& step) {
  const ir::Collective* const collective = ir::CommunicationOf(program, step);
  const bool reduces = collective != nullptr && (collective->kind == ir::CollectiveKind::kAllReduce ||
                                                 collective->kind == ir::CollectiveKind::kReduceScatter);
  return reduces && step.phase != ir::Phase::kForward ? collective : nullptr;
}

// The reductions of one kind between the ranks of some axes, in one stage of a pipeline.
struct Group {
  ir::CollectiveKind kind = ir::CollectiveKind::kAllReduce;
  ir::AxisList axes;
  std::optional<int> stage;

  bool operator<(const Group& other) const {
    return std::tie(kind, axes, stage) < std::tie(other.kind, other.axes, other.stage);
  }
};

// Those of the group with most bytes whose results only the update reads.
std::optional<std::pair<Group, Reductions>> LargestReductions(const ir::Program& program) {
  IdVector<ir::ValueId, char> is_read(program.values.size(), false);  // Before the update.
  for (const ir::Step& step : program.steps) {
    if (step.phase == ir::Phase::kUpdate) continue;
    for (const ir::ValueId value : ir::Reads(step)) is_read[value] = true;
  }
  std::map<Group, Reductions> by_group;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* const collective = ReductionOf(program, step);
    if (collective == nullptr) continue;
    for (const ir::Transfer& transfer : collective->transfers) {
      if (is_read[transfer.output]) continue;
      Reductions& reductions = by_group[{collective->kind, collective->axes, program.value(transfer.input).stage}];
      const Bytes bytes = ir::LargestLocalBytes(program, transfer.input);
      const ir::LoopPasses& passes = program.value(transfer.input).repetition.passes;
      (passes.empty() ? reductions.others : reductions.layers[passes.front().loop][passes.front().number]) += bytes;
      reductions.total += bytes;
    }
  }
  const auto largest = std::max_element(by_group.begin(), by_group.end(),
                                        [](const auto& a, const auto& b) { return a.second.total < b.second.total; });
  return largest == by_group.end() ? std::nullopt : std::make_optional(*largest);
}

// The time of the pass that makes the gradients of a stage; 0 where they follow the last micro-batch.
Seconds BackwardTime(const ir::Program& program, const ir::Fusion& fusion, const std::vector<Seconds>& stage_times,
                     std::optional<int> stage) {
  if (program.time.has_value()) return Seconds(0);
  Seconds time;
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::Step& first = program.steps[static_cast<size_t>(ir::StepsOf(fusion.stages[i]).front())];
    const bool computes = std::holds_alternative<ir::Compute>(first.action) && ir::StageOf(program, first) == stage;
    if (computes && fusion.stages[i].phase == ir::Phase::kBackward) time += stage_times[i];
  }
  return time;
}

}  // namespace

Bytes ReductionBytes(const ir::Program& program, const ir::Fusion& fusion, const std::vector<Seconds>& stage_times,
                     const Cluster& cluster) {
  const std::optional<std::pair<Group, Reductions>> largest = LargestReductions(program);
  if (!largest.has_value() || largest->second.total <= ir::kBucketBytes) return ir::kBucketBytes;
  const Group& group = largest->first;
  const Reductions& reductions = largest->second;
  const bool is_scattered = group.kind == ir::CollectiveKind::kReduceScatter;
  const Seconds backward = is_scattered ? Seconds(0) : BackwardTime(program, fusion, stage_times, group.stage);
  const auto seconds = [&](Bytes bytes) {
    return CollectiveSeconds(cluster, program.mesh, group.kind, group.axes, bytes);
  };
  const Seconds latency = seconds(Bytes(1));
  const Seconds sending = std::max(seconds(reductions.total) - latency, Seconds(0));
  const auto time = [&](Bytes bucket) {
    const auto count = static_cast<double>(reductions.Count(bucket));
    return std::max(backward + sending * (1 / count) + latency, backward * (1 / count) + sending + latency * count);
  };
  Bytes best = ir::kBucketBytes;
  for (Bytes bucket = best * 2; bucket < reductions.total * 2; bucket = bucket * 2) {
    constexpr double kLeastGain = 0.99;
    const Bytes most = is_scattered ? std::min(bucket, ir::kMostPackedBytes) : bucket;
    if (time(most) < time(best) * kLeastGain) best = most;
  }
  return best;
}

}  // namespace cleave::search
