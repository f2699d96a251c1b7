#include "ir/testing/plans.h"

#include "ir/graph/ops/ops.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {

Plan DataParallelPlan(const Graph& graph, const Mesh& mesh) {
  Plan plan;
  plan.mesh = mesh;
  plan.ops = IdVector<OpId, OpPlan>(graph.ops.size());
  const int64_t batch = BatchOf(graph).value_or(0);
  for (const Op& op : graph.ops) {
    const Rule rule = RuleOf(graph, op);
    Strategy strategy = Strategy::Replicated(rule);
    if (op.inherits.has_value()) {
      strategy = InheritStrategy(plan.ops[op.inherits->op].strategy, *op.inherits, rule, mesh);
    } else if (op.phase != Phase::kUpdate && op.kind != OpKind::kParameter && !rule.factors.empty()) {
      const bool has_batch = rule.factors.front().size == batch && rule.factors.front().kind != FactorKind::kWhole;
      for (AxisId axis : mesh.AxisIds()) {
        if (!has_batch) break;
        if (absl::StatusOr<Strategy> cut = WithCut(strategy, rule, mesh, 0, axis); cut.ok()) strategy = *cut;
      }
    }
    plan.ops[op.id].strategy = strategy;
  }
  return plan;
}

}  // namespace cleave::ir
