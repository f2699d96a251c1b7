#include "search/solve/sapp/starts.h"

#include "search/model/facts/cuts.h"
#include "search/price/cost/classic.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

// The dimension of an input that `axis` cuts for `reader`: the batch if it is data, or the dimension that its maker
// cut.
int CutOfInput(const Assignment& assignment, const Read& read, ir::AxisId axis, bool batch) {
  const ir::OpId maker = assignment.facts().op(read.reader).inputs[static_cast<size_t>(read.input)];
  switch (assignment.facts().roles[maker]) {
    case Role::kInput:
    case Role::kData:
      return batch && assignment.facts().op(maker).type.rank() > 0 ? 0 : -1;
    case Role::kProduct:
    case Role::kLight:
      return DimensionCutBy(assignment.seen(maker), axis);
    default:
      return -1;
  }
}

bool Fits(const ir::Rule& rule, const ir::Strategy& strategy, const ir::Mesh& mesh, size_t factor) {
  return mesh.Size(strategy.cuts[factor]) <= MostPieces(rule, static_cast<int>(factor));
}

// `strategy` with `axis` where the inputs already have it.
std::optional<ir::Strategy> AsInputs(const Assignment& assignment, ir::OpId op, const ir::Strategy& strategy,
                                     ir::AxisId axis, bool batch) {
  const ir::Rule& rule = assignment.facts().rule(op);
  for (size_t i = 0; i < rule.inputs.size(); ++i) {
    const int dimension = CutOfInput(assignment, {.reader = op, .input = static_cast<int>(i)}, axis, batch);
    if (dimension < 0) continue;
    std::optional<ir::Strategy> cut =
        WithDimensionCut(strategy, rule, assignment.mesh(), rule.inputs[i], static_cast<size_t>(dimension), axis, {});
    const int factor = cut.has_value() ? FactorCutBy(*cut, axis) : -1;
    if (factor >= 0 && Fits(rule, *cut, assignment.mesh(), static_cast<size_t>(factor))) return cut;
  }
  return std::nullopt;
}

ir::Strategy ProductCut(const Assignment& assignment, ir::OpId op, const ir::Strategy& strategy, ir::AxisId axis,
                        bool batch) {
  const ir::Rule& rule = assignment.facts().rule(op);
  if (auto cut = AsInputs(assignment, op, strategy, axis, batch)) return *std::move(cut);
  const std::vector<int> factors = FactorsFor(strategy, rule, assignment.mesh(), axis);
  for (int factor : factors) {
    if (batch || ProductFactorOf(rule, factor) != ProductFactor::kColumns) continue;
    if (auto cut = Moved(strategy, rule, assignment.mesh(), factor, axis)) return *std::move(cut);
  }
  return factors.empty() ? strategy : *Moved(strategy, rule, assignment.mesh(), factors[0], axis);
}

}  // namespace

std::vector<Change> Snapshot(const Assignment& assignment) {
  std::vector<Change> changes;
  for (ir::OpId op : assignment.facts().set_ops) changes.push_back({.op = op, .strategy = assignment.strategy(op)});
  return changes;
}

void StartUniform(Assignment& assignment, int batch_axes) {
  assignment.Hold();
  for (ir::OpId op : assignment.facts().set_ops) {
    const Role role = assignment.facts().roles[op];
    ir::Strategy strategy = ir::Strategy::Replicated(assignment.facts().rule(op));
    for (ir::AxisId axis : assignment.mesh().AxisIds()) {
      const bool batch = axis.value() < batch_axes;
      strategy = role == Role::kProduct ? ProductCut(assignment, op, strategy, axis, batch)
                                        : AsInputs(assignment, op, strategy, axis, batch).value_or(strategy);
    }
    assignment.Apply(std::vector<Change>{{op, strategy}});
  }
  assignment.Release();
}

}  // namespace cleave::search
