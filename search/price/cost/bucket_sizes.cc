#include "search/price/cost/bucket_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

// The tensors that collectives of one kind take: those of each pass of a loop of the model, and others.
struct Tensors {
  std::map<ir::TextPlace, std::map<int64_t, Bytes>> layers;
  Bytes others;
  Bytes total;

  void Add(const ir::Program& program, ir::ValueId value, Bytes bytes) {
    const ir::LoopPasses& passes = program.value(value).repetition.passes;
    (passes.empty() ? others : layers[passes.front().loop][passes.front().number]) += bytes;
    total += bytes;
  }

  // The number of collectives with buckets of so many bytes, as ir::MergeCollectives makes them.
  int64_t Count(Bytes bucket) const {
    const auto buckets = [&](Bytes bytes) { return (bytes.value() + bucket.value() - 1) / bucket.value(); };
    Bytes together = others;
    int64_t count = 0;
    for (const auto& [loop, passes] : layers) {
      Bytes all, largest;
      for (const auto& [pass, bytes] : passes) {
        all += bytes;
        largest = std::max(largest, bytes);
      }
      const auto number = static_cast<int64_t>(passes.size());
      if (all <= bucket) {
        together += all;
      } else if (bucket > ir::kBucketBytes && largest > Bytes(0) && largest <= bucket) {
        const int64_t fit = bucket.value() / largest.value();
        count += (number + fit - 1) / fit;
      } else {
        for (const auto& [pass, bytes] : passes) count += buckets(bytes);
      }
    }
    return std::max<int64_t>(1, count + buckets(together));
  }
};

// Collectives of one kind and phase between the ranks of some axes, in one stage of a pipeline.
struct Group {
  ir::CollectiveKind kind = ir::CollectiveKind::kAllReduce;
  ir::Phase phase = ir::Phase::kBackward;
  ir::Repeat repeat = ir::Repeat::kEach;
  ir::AxisList axes;
  std::optional<int> stage;

  bool operator<(const Group& other) const {
    return std::tie(kind, phase, repeat, axes, stage) <
           std::tie(other.kind, other.phase, other.repeat, other.axes, other.stage);
  }
};

using Groups = std::map<Group, Tensors>;

Group GroupOf(const ir::Program& program, const ir::Step& step, const ir::Collective& collective) {
  return {.kind = collective.kind,
          .phase = step.phase,
          .repeat = step.repeat,
          .axes = collective.axes,
          .stage = program.value(collective.transfers.front().input).stage};
}

// Reductions between ranks behind the forward pass whose results only the update reads.
Groups ReductionsOf(const ir::Program& program) {
  IdVector<ir::ValueId, char> is_read(program.values.size(), false);  // Before the update.
  for (const ir::Step& step : program.steps) {
    if (step.phase == ir::Phase::kUpdate) continue;
    for (const ir::ValueId value : ir::Reads(step)) is_read[value] = true;
  }
  Groups groups;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* const collective = ir::CommunicationOf(program, step);
    const bool reduces = collective != nullptr && (collective->kind == ir::CollectiveKind::kAllReduce ||
                                                   collective->kind == ir::CollectiveKind::kReduceScatter);
    if (!reduces || step.phase == ir::Phase::kForward) continue;
    for (const ir::Transfer& transfer : collective->transfers) {
      if (is_read[transfer.output]) continue;
      groups[GroupOf(program, step, *collective)].Add(program, transfer.input,
                                                      ir::LargestLocalBytes(program, transfer.input));
    }
  }
  return groups;
}

// Gathers of parameters, or of their copies in 16 bits, that are gathered for several passes.
Groups GathersOf(const ir::Program& program) {
  IdVector<ir::ValueId, char> is_parameter(program.values.size(), false);
  IdVector<ir::ValueId, int> gathered(program.values.size(), 0);
  for (const ir::Step& step : program.steps) {
    if (const auto* compute = std::get_if<ir::Compute>(&step.action); compute != nullptr) {
      is_parameter[compute->output] = compute->kind == ir::OpKind::kParameter ||
                                      (compute->kind == ir::OpKind::kCast && is_parameter[compute->inputs[0]]);
    } else if (const ir::Collective* const collective = ir::CommunicationOf(program, step); collective != nullptr) {
      for (const ir::Transfer& transfer : collective->transfers) ++gathered[transfer.input];
    }
  }
  Groups groups;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* const collective = ir::CommunicationOf(program, step);
    if (collective == nullptr || collective->kind != ir::CollectiveKind::kAllGather) continue;
    for (const ir::Transfer& transfer : collective->transfers) {
      if (!is_parameter[transfer.input] || gathered[transfer.input] < 2) continue;
      groups[GroupOf(program, step, *collective)].Add(program, transfer.input,
                                                      ir::LargestLocalBytes(program, transfer.output));
    }
  }
  return groups;
}

// What the ranks of a stage compute in one pass of a phase; 0 for what runs once where passes are repeated: before the
// first micro-batch, or behind the last.
Seconds PassTime(const ir::Program& program, const ir::Fusion& fusion, const std::vector<Seconds>& stage_times,
                 const Group& group) {
  const bool is_repeated = program.time.has_value();
  if (is_repeated && group.repeat != ir::Repeat::kEach) return Seconds(0);
  Seconds time;
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::Step& first = program.steps[static_cast<size_t>(ir::StepsOf(fusion.stages[i]).front())];
    const bool computes =
        std::holds_alternative<ir::Compute>(first.action) && ir::StageOf(program, first) == group.stage;
    if (computes && fusion.stages[i].phase == group.phase) time += stage_times[i];
  }
  return time * (1.0 / static_cast<double>(ir::MicroBatches(program)));
}

// Of the group with most bytes.
Bytes BestOf(const Groups& groups, const ir::Program& program, const ir::Fusion& fusion,
             const std::vector<Seconds>& stage_times, const Cluster& cluster) {
  const auto largest = std::max_element(groups.begin(), groups.end(),
                                        [](const auto& a, const auto& b) { return a.second.total < b.second.total; });
  if (largest == groups.end() || largest->second.total <= ir::kBucketBytes) return ir::kBucketBytes;
  const Group& group = largest->first;
  const Tensors& tensors = largest->second;
  const Seconds pass = PassTime(program, fusion, stage_times, group);
  const auto seconds = [&](Bytes bytes) {
    return CollectiveSeconds(cluster, program.mesh, group.kind, group.axes, bytes);
  };
  const Seconds latency = seconds(Bytes(1));
  const Seconds sending = std::max(seconds(tensors.total) - latency, Seconds(0));
  const auto time = [&](Bytes bucket) {
    const auto count = static_cast<double>(tensors.Count(bucket));
    return std::max(pass + sending * (1 / count) + latency, pass * (1 / count) + sending + latency * count);
  };
  const bool is_limited = group.kind != ir::CollectiveKind::kAllReduce && group.phase != ir::Phase::kUpdate;
  Bytes best = ir::kBucketBytes;
  for (Bytes bucket = best * 2; bucket < tensors.total * 2; bucket = bucket * 2) {
    constexpr double kLeastGain = 0.99;
    const Bytes most = is_limited ? std::min(bucket, ir::kMostPackedBytes) : bucket;
    if (time(most) < time(best) * kLeastGain) best = most;
  }
  return best;
}

}  // namespace

std::vector<ir::BucketSizes> SizesOfBuckets(const ir::Program& program, const ir::Fusion& fusion,
                                            const std::vector<Seconds>& stage_times, const Cluster& cluster) {
  const auto best = [&](const Groups& groups) { return BestOf(groups, program, fusion, stage_times, cluster); };
  const Groups reductions = ReductionsOf(program);
  const ir::BucketSizes own = {.reductions = best(reductions), .gathers = best(GathersOf(program))};
  ir::BucketSizes other = own;
  const bool is_large = std::any_of(reductions.begin(), reductions.end(), [](const auto& group) {
    return group.first.kind == ir::CollectiveKind::kReduceScatter && group.second.total > ir::kMostPackedBytes;
  });
  if (is_large) other.reductions = ir::kMostPackedBytes;
  std::vector<ir::BucketSizes> sizes;
  if (own != ir::BucketSizes()) sizes.push_back(own);
  if (other != own) sizes.push_back(other);
  return sizes;
}

}  // namespace cleave::search
