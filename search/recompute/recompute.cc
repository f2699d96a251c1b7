#include "search/recompute/recompute.h"

#include "search/recompute/choose.h"

namespace cleave::search {

void Apply(const RecomputeChoice& choice, ir::Plan& plan) {
  for (const auto& [op, retention] : choice.ops) plan.ops[op].retention = retention;
}

Recomputation::Recomputation(const ir::Distributed& distributed, const ir::Program& program,
                             const ir::MemoryPlan& memory, const Cluster& cluster,
                             const std::map<ir::OpId, ir::Retention>& asked, const SearchTuning& tuning)
    : liveness_(distributed, program, memory, cluster, asked), work_(tuning.recompute_work) {}

std::optional<RecomputeChoice> Recomputation::Cheapest(Bytes limit) const {
  const std::optional<std::vector<bool>> again = Chooser(liveness_, work_).Cheapest(limit);
  return again.has_value() ? std::optional(ChoiceOf(*again)) : std::nullopt;
}

RecomputeChoice Recomputation::Smallest() const { return ChoiceOf(Chooser(liveness_, work_).Smallest()); }

Bytes Recomputation::PeakAsAsked() const { return liveness_.Of(Chooser(liveness_, work_).AsAsked(), Bytes(0)).peak; }

RecomputeChoice Recomputation::ChoiceOf(const std::vector<bool>& again) const {
  const Outcome outcome = liveness_.Of(again, Bytes(0));
  RecomputeChoice choice{.ops = {}, .seconds = outcome.seconds, .peak = outcome.peak};
  const std::vector<bool> needed = liveness_.Needed(again);
  for (size_t u = 0; u < needed.size(); ++u) {
    if (!needed[u]) continue;
    const Unit& unit = liveness_.units()[u];
    for (const ir::OpId op : unit.ops) {
      ir::Retention& own = choice.ops.emplace(op, unit.retention).first->second;
      if (unit.retention == ir::Retention::kRecompute) own = unit.retention;
    }
  }
  return choice;
}

}  // namespace cleave::search
