#include "search/knobs/recompute/recompute.h"

#include <algorithm>
#include <utility>

namespace cleave::search {

void Apply(const RecomputeChoice& choice, ir::Plan& plan) {
  for (const auto& [op, retention] : choice.ops) plan.ops[op].retention = retention;
}

Recomputation::Recomputation(const ir::Distributed& distributed, const ir::Program& program,
                             const ir::MemoryPlan& memory, const Cluster& cluster,
                             const std::map<ir::OpId, ir::Retention>& asked, const SearchTuning& tuning,
                             const OpTimes& times)
    : liveness_(distributed, program, memory, cluster, asked, times), chooser_(liveness_, tuning.recompute_work) {}

std::optional<RecomputeChoice> Recomputation::Cheapest(Bytes limit) {
  const std::optional<std::vector<bool>> again = chooser_.Cheapest(limit);
  if (!again.has_value()) return std::nullopt;
  RecomputeChoice choice = ChoiceOf(*again);
  KeepSome(limit, *again, choice);
  return choice;
}

// Of what stands for several layers, one decision need not be the same in all of them. The peak is convex in the share
// of those that make it again: at each place the bytes change linearly.
void Recomputation::KeepSome(Bytes limit, const std::vector<bool>& again, RecomputeChoice& choice) const {
  if (!liveness_.StandsForMore()) return;
  const RecomputeChoice all = choice;
  for (size_t u = 0; u < again.size(); ++u) {
    const Unit& unit = liveness_.units()[u];
    const bool is_repeated = liveness_.StandsForSeveral(liveness_.forward()[static_cast<size_t>(unit.stages.front())]);
    if (!again[u] || unit.asked.has_value() || !is_repeated) continue;
    std::vector<bool> kept = again;
    kept[u] = false;
    const Outcome without = liveness_.Of(kept, limit);
    if (without.peak <= all.peak || without.seconds >= all.seconds) continue;
    const double share = std::max(0.0, static_cast<double>((without.peak - limit).value()) /
                                           static_cast<double>((without.peak - all.peak).value()));
    const Seconds seconds = without.seconds + (all.seconds - without.seconds) * share;
    if (seconds >= choice.seconds) continue;
    choice.seconds = seconds;
    choice.share = share;
    choice.partly.clear();
    for (const auto& [op, retention] : all.ops) choice.partly.insert(op);
    for (const auto& [op, retention] : liveness_.RetentionsOf(liveness_.Needed(kept))) choice.partly.erase(op);
  }
}

void Recomputation::MeasurePrograms(std::optional<Seconds> best, Bytes limit, const Measure& measure) {
  chooser_.MeasureFasterThan(best, limit, [&](const std::vector<bool>& again) { return measure(ChoiceOf(again)); });
}

RecomputeChoice Recomputation::Smallest() { return ChoiceOf(chooser_.Smallest()); }

Bytes Recomputation::PeakAsAsked() const { return liveness_.Of(chooser_.AsAsked(), Bytes(0)).peak; }

std::vector<MadeAgain> Recomputation::WhatIsMadeAgain(const ir::Plan& plan) const {
  const std::vector<Unit>& units = liveness_.units();
  const std::vector<Liveness::ForwardStage>& forward = liveness_.forward();
  std::vector<bool> again(units.size(), false);
  for (size_t u = 0; u < units.size(); ++u) {
    if (forward[static_cast<size_t>(units[u].stages.front())].unit < 0) continue;
    const bool is_own = std::any_of(units[u].ops.begin(), units[u].ops.end(),
                                    [&](ir::OpId op) { return plan.ops[op].retention == units[u].retention; });
    if (!is_own) continue;
    again[u] = true;
    for (const int copy : units[u].copies) again[static_cast<size_t>(copy)] = true;
  }
  const std::vector<bool> needed = liveness_.Needed(again);
  std::vector<MadeAgain> result;
  for (size_t u = 0; u < units.size(); ++u) {
    if (!needed[u]) continue;
    MadeAgain own{.name = forward[static_cast<size_t>(units[u].stages.back())].name,
                  .retention = units[u].retention,
                  .ops = static_cast<int64_t>(units[u].ops.size() + units[u].reshapes.size())};
    for (const int stage : units[u].stages) {
      own.seconds += forward[static_cast<size_t>(stage)].seconds;
      for (const int value : forward[static_cast<size_t>(stage)].writes) {
        const Liveness::Stored& stored = liveness_.values()[static_cast<size_t>(value)];
        if (stored.backward_end >= 0) own.waits += stored.size;
      }
    }
    result.push_back(std::move(own));
  }
  return result;
}

RecomputeChoice Recomputation::ChoiceOf(const std::vector<bool>& again) const {
  const Outcome outcome = liveness_.Of(again, Bytes(0));
  return {.ops = liveness_.RetentionsOf(liveness_.Needed(again)), .seconds = outcome.seconds, .peak = outcome.peak};
}

}  // namespace cleave::search
