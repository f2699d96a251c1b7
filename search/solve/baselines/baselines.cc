#include "search/solve/baselines/baselines.h"

#include <algorithm>
#include <vector>

#include "search/solve/sapp/bundles.h"

namespace cleave::search {
namespace {

// The dimension of a value that has the samples, alone or as its major part.
struct Batch {
  int dimension = -1;  // -1: the value has none.
  int64_t samples = 0;
};

// Whether data has samples: not where all that it is computed from is inputs that have none.
bool HasBatch(const GraphFacts& facts, const ir::Op& op, const IdVector<ir::OpId, Batch>& batches) {
  if (op.kind == ir::OpKind::kInput) return ir::IsSamples(op.kind, op.attributes);
  bool reads_others = false;
  for (const ir::OpId input : op.inputs) {
    if (batches[input].dimension >= 0) return true;
    reads_others |= facts.roles[input] == Role::kInput || facts.roles[input] == Role::kData;
  }
  return !reads_others;
}

// The batch of each value: the first dimension of data, and of any other value the dimension of the factor that is the
// batch of an input.
IdVector<ir::OpId, Batch> FindBatches(const GraphFacts& facts) {
  IdVector<ir::OpId, Batch> batches(facts.graph->ops.size());
  for (const ir::Op& op : facts.graph->ops) {
    Batch& own = batches[op.id];
    const Role role = facts.roles[op.id];
    if (role == Role::kInput || role == Role::kData) {
      if (op.type.rank() > 0 && HasBatch(facts, op, batches)) own = {.dimension = 0, .samples = op.type.shape[0]};
      continue;
    }
    if (!facts.is_set(op.id)) continue;
    const ir::Rule& rule = facts.rule(op.id);
    for (size_t i = 0; i < op.inputs.size() && own.dimension < 0; ++i) {
      const Batch& read = batches[op.inputs[i]];
      if (read.dimension < 0) continue;
      const ir::FactorList& factors = rule.inputs[i][static_cast<size_t>(read.dimension)];
      for (size_t d = 0; d < rule.output.size() && !factors.empty(); ++d) {
        if (rule.output[d].empty() || rule.output[d].front() != factors.front()) continue;
        own = {.dimension = static_cast<int>(d), .samples = read.samples};
      }
    }
  }
  return batches;
}

// The dimension of an input that `axis` is to cut: the one that it cuts where the input is made, else the batch. An
// input that is whole there, because it is pinned or comes from another region, is cut where it is read.
int DimensionToCut(const Assignment& assignment, ir::OpId input, const Batch& batch, ir::AxisId axis) {
  const int cut = assignment.facts().is_set(input) ? DimensionCutBy(assignment.seen(input), axis) : -1;
  return cut >= 0 ? cut : batch.dimension;
}

}  // namespace

void DataParallel(Assignment& assignment) {
  const GraphFacts& facts = assignment.facts();
  const ir::Mesh& mesh = assignment.mesh();
  const IdVector<ir::OpId, Batch> batches = FindBatches(facts);
  assignment.Hold();
  for (ir::OpId id : facts.set_ops) {
    const ir::Op& op = facts.op(id);
    const ir::Rule& rule = facts.rule(id);
    ir::Strategy strategy = ir::Strategy::Replicated(rule);
    for (ir::AxisId axis : mesh.AxisIds()) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Batch& batch = batches[op.inputs[i]];
        const int dimension = DimensionToCut(assignment, op.inputs[i], batch, axis);
        if (dimension < 0) continue;
        const auto d = static_cast<size_t>(dimension);
        int64_t size = facts.op(op.inputs[i]).type.shape[d];
        if (dimension == batch.dimension) size = std::min(size, batch.samples);
        std::optional<ir::Strategy> cut = WithDimensionCut(strategy, rule, mesh, rule.inputs[i], d, axis, {});
        if (!cut.has_value()) continue;
        if (mesh.Size(ir::InputLayout(*cut, rule, static_cast<int>(i)).dimensions[d]) > size) continue;
        strategy = *std::move(cut);
        break;
      }
    }
    assignment.Apply(std::vector<Change>{{id, strategy}});
  }
  assignment.Release();
}

void Replicate(Assignment& assignment) {
  const GraphFacts& facts = assignment.facts();
  std::vector<Change> changes;
  for (ir::OpId op : facts.set_ops) changes.push_back({.op = op, .strategy = ir::Strategy::Replicated(facts.rule(op))});
  assignment.Apply(changes);
}

}  // namespace cleave::search
