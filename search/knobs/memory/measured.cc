#include "search/knobs/memory/measured.h"

#include <algorithm>
#include <utility>

#include "base/check/check.h"
#include "ir/program/order/order.h"
#include "ir/sharding/layout/layout.h"

namespace cleave::search {

ir::LoweredProgram MustMake(const ir::Graph& graph, const ir::Plan& plan, const Cluster& cluster,
                            const Execution& execution) {
  absl::StatusOr<ir::LoweredProgram> made = ProgramOf(graph, plan, cluster, execution);
  CLEAVE_CHECK(made.ok()) << made.status();
  return *std::move(made);
}

absl::StatusOr<ir::LoweredProgram> Keep(const ir::Graph& graph, ir::Plan plan, const Savings& savings,
                                        const Cluster& cluster, const Execution& execution) {
  for (const auto& [op, retention] : savings.asked) {
    if (retention == ir::Retention::kOffload) plan.ops[op].retention = retention;
  }
  return ProgramOf(graph, plan, cluster, execution);
}

ir::LoweredProgram MustKeep(const ir::Graph& graph, ir::Plan plan, const Savings& savings, const Cluster& cluster,
                            const Execution& execution) {
  absl::StatusOr<ir::LoweredProgram> made = Keep(graph, std::move(plan), savings, cluster, execution);
  CLEAVE_CHECK(made.ok()) << made.status();
  return *std::move(made);
}

std::unique_ptr<Recomputation> RecomputationOf(const ir::LoweredProgram& program, const Cluster& cluster,
                                               const Savings& savings, const SearchTuning& tuning,
                                               const OpTimes& times) {
  return std::make_unique<Recomputation>(program.distributed, program.program, program.memory, cluster, savings.asked,
                                         tuning, times);
}

void MoveStepsToFit(Bytes limit, ir::Plan& plan, ir::LoweredProgram& program) {
  if (plan.moves_steps || PeakOf(program) <= limit) return;
  plan.moves_steps = true;
  ir::OrderForMemory(program.distributed.graph, program.program, program.memory);
}

Bytes PeakOf(const ir::LoweredProgram& program) { return program.memory.use.prediction.peak; }

int64_t SamplesOfRank(const ir::Graph& graph, const ir::Plan& plan) {
  int64_t samples = 1;
  for (const ir::Op& op : graph.ops) {
    if (!ir::IsSamples(op.kind, op.attributes) || op.type.rank() == 0) continue;
    const ir::Layout layout = ir::OutputLayout(plan.ops[op.id].strategy, ir::RuleOf(graph, op));
    samples = std::max(samples, ir::LargestLocalShape(layout, plan.mesh, op.type.shape)[0]);
  }
  return samples;
}

void BestFit::Offer(Fit fit, Seconds seconds) {
  if (!MayBe(fit.plan, seconds)) return;
  cost_ = CostOf(fit.plan, seconds);
  fit_ = std::move(fit);
}

}  // namespace cleave::search
