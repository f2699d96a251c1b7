#include "search/baselines/baselines.h"

#include <vector>

#include "search/sapp/bundles.h"

namespace cleave::search {
namespace {

// The dimension of the value of `maker` that is the batch: the first one for data, the one that `axis` cuts for other
// values; -1 where there is none.
int BatchDimension(const Assignment& assignment, ir::OpId maker, ir::AxisId axis) {
  const GraphFacts& facts = assignment.facts();
  const Role role = facts.roles[maker];
  if (role == Role::kInput || role == Role::kData) return facts.op(maker).type.rank() > 0 ? 0 : -1;
  return facts.is_set(maker) ? DimensionCutBy(assignment.seen(maker), axis) : -1;
}

}  // namespace

void DataParallel(Assignment& assignment) {
  const GraphFacts& facts = assignment.facts();
  const ir::Mesh& mesh = assignment.mesh();
  assignment.HoldPrices();
  for (ir::OpId id : facts.set_ops) {
    const ir::Op& op = facts.op(id);
    const ir::Rule& rule = facts.rule(id);
    ir::Strategy strategy = ir::Strategy::Replicated(rule);
    for (ir::AxisId axis : mesh.AxisIds()) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const int dimension = BatchDimension(assignment, op.inputs[i], axis);
        if (dimension < 0) continue;
        const int64_t size = facts.op(op.inputs[i]).type.shape[static_cast<size_t>(dimension)];
        std::optional<ir::Strategy> cut =
            WithDimensionCut(strategy, rule, mesh, rule.inputs[i], static_cast<size_t>(dimension), axis, {});
        if (!cut.has_value()) continue;
        if (mesh.Size(ir::InputLayout(*cut, rule, static_cast<int>(i)).dimensions[static_cast<size_t>(dimension)]) >
            size)
          continue;
        strategy = *std::move(cut);
        break;
      }
    }
    assignment.Apply(std::vector<Change>{{id, strategy}});
  }
  assignment.ReleasePrices();
}

void Replicate(Assignment& assignment) {
  const GraphFacts& facts = assignment.facts();
  std::vector<Change> changes;
  for (ir::OpId op : facts.set_ops) changes.push_back({.op = op, .strategy = ir::Strategy::Replicated(facts.rule(op))});
  assignment.Apply(changes);
}

}  // namespace cleave::search
