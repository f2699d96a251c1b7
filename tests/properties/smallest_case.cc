#include "tests/properties/smallest_case.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/check/shrink.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::tests::properties {
namespace {

// Which ops the results (and, without results, the last op) need.
IdVector<ir::OpId, char> Needed(const ir::Graph& graph) {
  IdVector<ir::OpId, char> needed(graph.ops.size(), false);
  if (graph.loss.has_value()) needed[*graph.loss] = true;
  for (const ir::Metric& metric : graph.metrics) needed[metric.value] = true;
  for (const ir::StateUpdate& update : graph.updates) needed[update.state] = needed[update.value] = true;
  if (!graph.loss.has_value() && graph.metrics.empty() && graph.updates.empty()) needed[graph.ops.back().id] = true;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const ir::Op& op = graph.ops[ir::OpId(static_cast<int64_t>(i))];
    if (!needed[op.id]) continue;
    for (ir::OpId input : op.inputs) needed[input] = true;
  }
  return needed;
}

// The case without the ops that nothing needs. Inherited strategies are already in the plan.
PlannedGraph WithoutUnneeded(const PlannedGraph& sample) {
  const IdVector<ir::OpId, char> needed = Needed(sample.graph);
  IdVector<ir::OpId, ir::OpId> renumbered(sample.graph.ops.size());
  PlannedGraph smaller = sample;
  smaller.graph.ops = {};
  smaller.plan.ops = {};
  for (ir::Op op : sample.graph.ops) {
    if (!needed[op.id]) continue;
    const ir::OpId id(static_cast<int64_t>(smaller.graph.ops.size()));
    renumbered[op.id] = id;
    smaller.plan.ops.push_back(sample.plan.ops[op.id]);
    op.id = id;
    for (ir::OpId& input : op.inputs) input = renumbered[input];
    op.inherits.reset();
    op.gradient_of.reset();
    smaller.graph.ops.push_back(std::move(op));
  }
  if (smaller.graph.loss.has_value()) smaller.graph.loss = renumbered[*smaller.graph.loss];
  for (ir::Metric& metric : smaller.graph.metrics) metric.value = renumbered[metric.value];
  for (ir::StateUpdate& update : smaller.graph.updates) {
    update = {.state = renumbered[update.state], .value = renumbered[update.value]};
  }
  return smaller;
}

// The case without one of its results: loss, metrics, updates.
std::optional<PlannedGraph> WithoutResult(const PlannedGraph& sample, size_t which) {
  PlannedGraph smaller = sample;
  ir::Graph& graph = smaller.graph;
  if (which == 0) {
    if (!graph.loss.has_value()) return std::nullopt;
    graph.loss.reset();
  } else if (which <= graph.metrics.size()) {
    graph.metrics.erase(graph.metrics.begin() + static_cast<ptrdiff_t>(which - 1));
  } else if (which - 1 - graph.metrics.size() < graph.updates.size()) {
    graph.updates.erase(graph.updates.begin() + static_cast<ptrdiff_t>(which - 1 - graph.metrics.size()));
  } else {
    return std::nullopt;
  }
  return WithoutUnneeded(smaller);
}

// The case without everything after `last`, and without results.
PlannedGraph OnlyUpTo(const PlannedGraph& sample, ir::OpId last) {
  PlannedGraph smaller = sample;
  smaller.graph.loss.reset();
  smaller.graph.metrics.clear();
  smaller.graph.updates.clear();
  smaller.graph.ops.resize(static_cast<size_t>(last.value()) + 1);
  smaller.plan.ops.resize(static_cast<size_t>(last.value()) + 1);
  return WithoutUnneeded(smaller);
}

// The case in which `id` is an input with the layout of its value, as far as that is not partial.
std::optional<PlannedGraph> AsInput(const PlannedGraph& sample, ir::OpId id) {
  PlannedGraph smaller = sample;
  ir::Op& op = smaller.graph.ops[id];
  if (op.inputs.empty()) return std::nullopt;
  const ir::Layout layout = ir::OutputLayout(smaller.plan.ops[id].strategy, ir::RuleOf(smaller.graph, op));
  op.kind = ir::OpKind::kInput;
  op.inputs.clear();
  op.attributes = {{ir::attribute::kShape, op.type.shape},
                   {ir::attribute::kDType, op.type.dtype},
                   {ir::attribute::kData, absl::StrCat("data_", id.value())}};
  ir::Strategy strategy = ir::Strategy::Replicated(ir::RuleOf(smaller.graph, op));
  for (size_t d = 0; d < strategy.cuts.size(); ++d) strategy.cuts[d] = layout.dimensions[d];
  smaller.plan.ops[id].strategy = std::move(strategy);
  return WithoutUnneeded(smaller);
}

void RemoveAxis(ir::AxisId axis, ir::AxisList& axes) {
  axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
  for (ir::AxisId& other : axes) {
    if (axis < other) other = ir::AxisId(other.value() - 1);
  }
}

std::optional<PlannedGraph> WithoutAxis(const PlannedGraph& sample, ir::AxisId axis) {
  PlannedGraph smaller = sample;
  std::vector<ir::MeshAxis> axes = sample.plan.mesh.axes();
  axes.erase(axes.begin() + axis.value());
  absl::StatusOr<ir::Mesh> mesh = ir::Mesh::Create(std::move(axes));
  if (!mesh.ok()) return std::nullopt;
  smaller.plan.mesh = *std::move(mesh);
  for (ir::OpPlan& planned : smaller.plan.ops) {
    for (ir::AxisList& cuts : planned.strategy.cuts) RemoveAxis(axis, cuts);
    std::vector<ir::PassThrough> passes;
    for (ir::PassThrough pass : planned.strategy.passes) {
      if (pass.axis == axis) continue;
      if (axis < pass.axis) pass.axis = ir::AxisId(pass.axis.value() - 1);
      passes.push_back(pass);
    }
    planned.strategy.passes = std::move(passes);
    if (!planned.output.has_value()) continue;
    for (ir::AxisList& dimension : planned.output->dimensions) RemoveAxis(axis, dimension);
  }
  return smaller;
}

std::optional<PlannedGraph> WithShorterAxis(const PlannedGraph& sample, ir::AxisId axis) {
  std::vector<ir::MeshAxis> axes = sample.plan.mesh.axes();
  int64_t& size = axes[static_cast<size_t>(axis.value())].size;
  if (size <= 2) return std::nullopt;
  size = size > 3 ? 3 : 2;
  absl::StatusOr<ir::Mesh> mesh = ir::Mesh::Create(std::move(axes));
  if (!mesh.ok()) return std::nullopt;
  PlannedGraph smaller = sample;
  smaller.plan.mesh = *std::move(mesh);
  return smaller;
}

// The cases in which one op is cut less: without all of its cuts and passes, then without one axis after another.
std::vector<PlannedGraph> WithLessCut(const PlannedGraph& sample, ir::OpId id) {
  std::vector<PlannedGraph> smaller;
  const ir::OpPlan& planned = sample.plan.ops[id];
  const auto add = [&](ir::OpPlan changed) {
    if (changed == planned) return;
    smaller.push_back(sample);
    smaller.back().plan.ops[id] = std::move(changed);
  };
  ir::OpPlan plain = planned;
  plain.strategy = ir::Strategy::Replicated(ir::RuleOf(sample.graph, sample.graph.op(id)));
  plain.output.reset();
  add(plain);
  ir::OpPlan without_output = planned;
  without_output.output.reset();
  add(without_output);
  ir::OpPlan without_passes = planned;
  without_passes.strategy.passes.clear();
  add(without_passes);
  for (size_t factor = 0; factor < planned.strategy.cuts.size(); ++factor) {
    ir::OpPlan less = planned;
    if (!less.strategy.cuts[factor].empty()) less.strategy.cuts[factor].pop_back();
    add(less);
  }
  return smaller;
}

// The case with the sizes that the compiler's own proof would use.
std::optional<PlannedGraph> WithSmallSizes(const PlannedGraph& sample) {
  const absl::StatusOr<Compiled> compiled = Compile(sample);
  if (!compiled.ok() || compiled->distributed.graph != sample.graph) return std::nullopt;
  absl::StatusOr<ir::Shrunk> shrunk = ir::Shrink(sample.graph, compiled->program, compiled->program.mesh);
  if (!shrunk.ok()) return std::nullopt;
  PlannedGraph smaller = sample;
  smaller.graph = std::move(shrunk->graph);
  return smaller;
}

class Smaller {
 public:
  Smaller(PlannedGraph sample, const std::function<bool(const PlannedGraph&)>& fails)
      : case_(std::move(sample)), fails_(fails) {}

  PlannedGraph Run() && {
    CutOffTheEnd();
    bool changed = true;
    while (changed) {
      changed = false;
      changed |= MicroBatches();
      changed |= Ops();
      changed |= Axes();
      changed |= Cuts();
      changed |= Take(WithSmallSizes(case_));
    }
    return std::move(case_);
  }

 private:
  bool Take(std::optional<PlannedGraph> candidate) {
    if (!candidate.has_value()) return false;
    if (candidate->graph == case_.graph && candidate->plan == case_.plan) return false;
    if (!ir::VerifyGraph(candidate->graph).empty() || !ir::VerifyPlan(candidate->graph, candidate->plan).empty())
      return false;
    if (!fails_(*candidate)) return false;
    case_ = *std::move(candidate);
    return true;
  }

  void CutOffTheEnd() {
    const size_t count = case_.graph.ops.size();
    for (size_t last = 0; last < count; ++last) {
      if (Take(OnlyUpTo(case_, ir::OpId(static_cast<int64_t>(last))))) return;
    }
  }

  bool MicroBatches() {
    bool changed = false;
    while (case_.plan.micro_batches > 1) {
      PlannedGraph fewer = case_;
      --fewer.plan.micro_batches;
      if (!Take(std::move(fewer))) break;
      changed = true;
    }
    return changed;
  }

  bool Ops() {
    bool changed = false;
    for (size_t which = 0; which <= case_.graph.metrics.size() + case_.graph.updates.size();) {
      const bool taken = Take(WithoutResult(case_, which));
      changed |= taken;
      if (!taken || which == 0) ++which;
    }
    for (size_t i = case_.graph.ops.size(); i-- > 0;) {
      if (i < case_.graph.ops.size()) changed |= Take(AsInput(case_, ir::OpId(static_cast<int64_t>(i))));
    }
    return changed;
  }

  bool Axes() {
    bool changed = false;
    for (int axis = case_.plan.mesh.axis_count(); axis-- > 0;) {
      changed |= Take(WithoutAxis(case_, ir::AxisId(axis)));
      if (axis < case_.plan.mesh.axis_count()) changed |= Take(WithShorterAxis(case_, ir::AxisId(axis)));
    }
    return changed;
  }

  bool Cuts() {
    bool changed = false;
    for (size_t i = case_.graph.ops.size(); i-- > 0;) {
      for (PlannedGraph& candidate : WithLessCut(case_, ir::OpId(static_cast<int64_t>(i)))) {
        if (!Take(std::move(candidate))) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

  PlannedGraph case_;
  const std::function<bool(const PlannedGraph&)>& fails_;
};

}  // namespace

PlannedGraph SmallestCase(PlannedGraph sample, const std::function<bool(const PlannedGraph&)>& fails) {
  return Smaller(std::move(sample), fails).Run();
}

}  // namespace cleave::tests::properties
