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

namespace cleave::properties {
namespace {

// Which ops the results (and, without results, the last op) need.
IdVector<OpId, char> Needed(const Graph& graph) {
  IdVector<OpId, char> needed(graph.ops.size(), false);
  if (graph.loss.has_value()) needed[*graph.loss] = true;
  for (const Metric& metric : graph.metrics) needed[metric.value] = true;
  for (const StateUpdate& update : graph.updates) needed[update.state] = needed[update.value] = true;
  if (!graph.loss.has_value() && graph.metrics.empty() && graph.updates.empty()) needed[graph.ops.back().id] = true;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[OpId(static_cast<int64_t>(i))];
    if (!needed[op.id]) continue;
    for (OpId input : op.inputs) needed[input] = true;
  }
  return needed;
}

// Without the ops that nothing needs. What an op inherits is in the plan already.
PlannedGraph WithoutUnneeded(const PlannedGraph& sample) {
  const IdVector<OpId, char> needed = Needed(sample.graph);
  IdVector<OpId, OpId> renumbered(sample.graph.ops.size());
  PlannedGraph smaller = sample;
  smaller.graph.ops = {};
  smaller.plan.ops = {};
  for (Op op : sample.graph.ops) {
    if (!needed[op.id]) continue;
    const OpId id(static_cast<int64_t>(smaller.graph.ops.size()));
    renumbered[op.id] = id;
    smaller.plan.ops.push_back(sample.plan.ops[op.id]);
    op.id = id;
    for (OpId& input : op.inputs) input = renumbered[input];
    op.inherits.reset();
    op.gradient_of.reset();
    smaller.graph.ops.push_back(std::move(op));
  }
  if (smaller.graph.loss.has_value()) smaller.graph.loss = renumbered[*smaller.graph.loss];
  for (Metric& metric : smaller.graph.metrics) metric.value = renumbered[metric.value];
  for (StateUpdate& update : smaller.graph.updates) {
    update = {.state = renumbered[update.state], .value = renumbered[update.value]};
  }
  return smaller;
}

// The results left out one after another: loss, metrics, updates.
std::optional<PlannedGraph> WithoutResult(const PlannedGraph& sample, size_t which) {
  PlannedGraph smaller = sample;
  Graph& graph = smaller.graph;
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

// Everything after `last` left out, and all results.
PlannedGraph OnlyUpTo(const PlannedGraph& sample, OpId last) {
  PlannedGraph smaller = sample;
  smaller.graph.loss.reset();
  smaller.graph.metrics.clear();
  smaller.graph.updates.clear();
  smaller.graph.ops.resize(static_cast<size_t>(last.value()) + 1);
  smaller.plan.ops.resize(static_cast<size_t>(last.value()) + 1);
  return WithoutUnneeded(smaller);
}

// `id` an input that lies as its value did, as far as it is not partial.
std::optional<PlannedGraph> AsInput(const PlannedGraph& sample, OpId id) {
  PlannedGraph smaller = sample;
  Op& op = smaller.graph.ops[id];
  if (op.inputs.empty()) return std::nullopt;
  const Layout layout = OutputLayout(smaller.plan.ops[id].strategy, RuleOf(smaller.graph, op));
  op.kind = OpKind::kInput;
  op.inputs.clear();
  op.attributes = {{attribute::kShape, op.type.shape},
                   {attribute::kDType, op.type.dtype},
                   {attribute::kData, absl::StrCat("data_", id.value())}};
  Strategy strategy = Strategy::Replicated(RuleOf(smaller.graph, op));
  for (size_t d = 0; d < strategy.cuts.size(); ++d) strategy.cuts[d] = layout.dimensions[d];
  smaller.plan.ops[id].strategy = std::move(strategy);
  return WithoutUnneeded(smaller);
}

void RemoveAxis(AxisId axis, std::vector<AxisId>& axes) {
  axes.erase(std::remove(axes.begin(), axes.end(), axis), axes.end());
  for (AxisId& other : axes) {
    if (axis < other) other = AxisId(other.value() - 1);
  }
}

std::optional<PlannedGraph> WithoutAxis(const PlannedGraph& sample, AxisId axis) {
  PlannedGraph smaller = sample;
  std::vector<MeshAxis> axes = sample.plan.mesh.axes();
  axes.erase(axes.begin() + axis.value());
  absl::StatusOr<Mesh> mesh = Mesh::Create(std::move(axes));
  if (!mesh.ok()) return std::nullopt;
  smaller.plan.mesh = *std::move(mesh);
  for (OpPlan& planned : smaller.plan.ops) {
    for (std::vector<AxisId>& cuts : planned.strategy.cuts) RemoveAxis(axis, cuts);
    std::vector<PassThrough> passes;
    for (PassThrough pass : planned.strategy.passes) {
      if (pass.axis == axis) continue;
      if (axis < pass.axis) pass.axis = AxisId(pass.axis.value() - 1);
      passes.push_back(pass);
    }
    planned.strategy.passes = std::move(passes);
    if (!planned.output.has_value()) continue;
    for (std::vector<AxisId>& dimension : planned.output->dimensions) RemoveAxis(axis, dimension);
  }
  return smaller;
}

std::optional<PlannedGraph> WithShorterAxis(const PlannedGraph& sample, AxisId axis) {
  std::vector<MeshAxis> axes = sample.plan.mesh.axes();
  int64_t& size = axes[static_cast<size_t>(axis.value())].size;
  if (size <= 2) return std::nullopt;
  size = size > 3 ? 3 : 2;
  absl::StatusOr<Mesh> mesh = Mesh::Create(std::move(axes));
  if (!mesh.ok()) return std::nullopt;
  PlannedGraph smaller = sample;
  smaller.plan.mesh = *std::move(mesh);
  return smaller;
}

// One op cut less: all of its cuts and passes, then one axis after another.
std::vector<PlannedGraph> WithLessCut(const PlannedGraph& sample, OpId id) {
  std::vector<PlannedGraph> smaller;
  const OpPlan& planned = sample.plan.ops[id];
  const auto add = [&](OpPlan changed) {
    if (changed == planned) return;
    smaller.push_back(sample);
    smaller.back().plan.ops[id] = std::move(changed);
  };
  OpPlan plain = planned;
  plain.strategy = Strategy::Replicated(RuleOf(sample.graph, sample.graph.op(id)));
  plain.output.reset();
  add(plain);
  OpPlan without_output = planned;
  without_output.output.reset();
  add(without_output);
  OpPlan without_passes = planned;
  without_passes.strategy.passes.clear();
  add(without_passes);
  for (size_t factor = 0; factor < planned.strategy.cuts.size(); ++factor) {
    OpPlan less = planned;
    if (!less.strategy.cuts[factor].empty()) less.strategy.cuts[factor].pop_back();
    add(less);
  }
  return smaller;
}

// The sizes that the compiler's own proof would take.
std::optional<PlannedGraph> WithSmallSizes(const PlannedGraph& sample) {
  const absl::StatusOr<Compiled> compiled = Compile(sample);
  if (!compiled.ok() || compiled->distributed.graph != sample.graph) return std::nullopt;
  absl::StatusOr<Shrunk> shrunk = Shrink(sample.graph, compiled->program, sample.plan.mesh);
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
    if (!VerifyGraph(candidate->graph).empty() || !VerifyPlan(candidate->graph, candidate->plan).empty()) return false;
    if (!fails_(*candidate)) return false;
    case_ = *std::move(candidate);
    return true;
  }

  void CutOffTheEnd() {
    const size_t count = case_.graph.ops.size();
    for (size_t last = 0; last < count; ++last) {
      if (Take(OnlyUpTo(case_, OpId(static_cast<int64_t>(last))))) return;
    }
  }

  bool Ops() {
    bool changed = false;
    for (size_t which = 0; which <= case_.graph.metrics.size() + case_.graph.updates.size();) {
      const bool taken = Take(WithoutResult(case_, which));
      changed |= taken;
      if (!taken || which == 0) ++which;
    }
    for (size_t i = case_.graph.ops.size(); i-- > 0;) {
      if (i < case_.graph.ops.size()) changed |= Take(AsInput(case_, OpId(static_cast<int64_t>(i))));
    }
    return changed;
  }

  bool Axes() {
    bool changed = false;
    for (int axis = case_.plan.mesh.axis_count(); axis-- > 0;) {
      changed |= Take(WithoutAxis(case_, AxisId(axis)));
      if (axis < case_.plan.mesh.axis_count()) changed |= Take(WithShorterAxis(case_, AxisId(axis)));
    }
    return changed;
  }

  bool Cuts() {
    bool changed = false;
    for (size_t i = case_.graph.ops.size(); i-- > 0;) {
      for (PlannedGraph& candidate : WithLessCut(case_, OpId(static_cast<int64_t>(i)))) {
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

}  // namespace cleave::properties
