#include "search/zero/zero.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave {
namespace {

std::vector<AxisId> FreeAxes(const Layout& layout, const Mesh& mesh) {
  std::set<AxisId> used;
  for (const std::vector<AxisId>& axes : layout.dimensions) used.insert(axes.begin(), axes.end());
  std::vector<AxisId> free;
  for (AxisId axis : mesh.AxisIds()) {
    if (used.count(axis) == 0) free.push_back(axis);
  }
  std::stable_sort(free.begin(), free.end(),
                   [&](AxisId a, AxisId b) { return mesh.axis(a).weight < mesh.axis(b).weight; });
  return free;
}

Layout WithAxes(Layout layout, size_t dimension, const std::vector<AxisId>& axes) {
  std::vector<AxisId>& cut = layout.dimensions[dimension];
  cut.insert(cut.end(), axes.begin(), axes.end());
  return layout;
}

// `axes` cutting the one dimension that leaves the smallest largest piece.
Layout CutOneDimension(const Layout& layout, const Mesh& mesh, const Shape& shape, const std::vector<AxisId>& axes) {
  std::optional<std::pair<int64_t, int64_t>> least;
  Layout best = layout;
  for (size_t d = 0; d < shape.size(); ++d) {
    Layout candidate = WithAxes(layout, d, axes);
    const std::pair<int64_t, int64_t> key(ElementCount(LargestLocalShape(candidate, mesh, shape)), -shape[d]);
    if (least.has_value() && *least <= key) continue;
    least = key;
    best = std::move(candidate);
  }
  return best;
}

// The plan of a copy of the parameter that `parameter` plans: cut in the same way, so that what is gathered is the
// copy.
OpPlan DividedCopy(const GraphFacts& facts, const OpPlan& parameter, OpId copy, const Plan& plan) {
  OpPlan own = plan.ops[copy];
  const Layout layout = OutputLayout(parameter.strategy, facts.rule(facts.op(copy).inputs[0]));
  own.strategy = StrategyFromDimensions(layout, facts.rule(copy).output, facts.rule(copy), plan.mesh);
  own.gather_again = true;
  own.reason = parameter.reason;
  return own;
}

}  // namespace

Layout DividedLayout(const Layout& storage, const Mesh& mesh, const Shape& shape) {
  const std::vector<AxisId> free = FreeAxes(storage, mesh);
  Layout together = CutOneDimension(storage, mesh, shape, free);
  bool reaches_all = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    reaches_all = reaches_all || mesh.Size(WithAxes(storage, d, free).dimensions[d]) <= shape[d];
  }
  if (reaches_all) return together;
  Layout apart = storage;
  for (AxisId axis : free) apart = CutOneDimension(apart, mesh, shape, {axis});
  const auto largest = [&](const Layout& layout) { return ElementCount(LargestLocalShape(layout, mesh, shape)); };
  return 2 * largest(apart) <= largest(together) ? apart : together;
}

void ShardReplicas(const GraphFacts& facts, const OpDemands& demands, int level, Plan& plan) {
  CLEAVE_CHECK(level >= 0 && level <= 3) << "level " << level;
  if (level == 0) return;
  const std::string setting = absl::StrCat(" (zero = ", level, ")");
  std::map<OpId, Layout> divided;  // By parameter.
  for (const Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kParameter || op.type.rank() == 0) continue;
    OpPlan& own = plan.ops[op.id];
    const Layout storage = OutputLayout(own.strategy, facts.rule(op.id));
    const Layout layout = DividedLayout(storage, plan.mesh, op.type.shape);
    if (layout == storage) continue;
    divided.emplace(op.id, layout);
    for (OpId member : facts.update_groups[op.id]) {
      OpPlan& update = plan.ops[member];
      update.strategy = StrategyFromDimensions(layout, facts.rule(member).output, facts.rule(member), plan.mesh);
      update.reason = absl::StrCat("divided among the replicas of ", op.name, setting);
    }
    if (level < 3 || demands.count(op.id) > 0) continue;
    own.strategy = StrategyFromDimensions(layout, facts.rule(op.id).output, facts.rule(op.id), plan.mesh);
    own.gather_again = true;
    absl::StrAppend(&own.reason, ", divided among its replicas", setting);
    for (const Read& read : facts.reads[op.id]) {
      if (facts.roles[read.reader] == Role::kCopy) plan.ops[read.reader] = DividedCopy(facts, own, read.reader, plan);
    }
  }
  if (level < 2) return;
  for (const Op& op : facts.graph->ops) {
    if (op.phase != Phase::kBackward || !op.gradient_of.has_value()) continue;
    const auto found = divided.find(*op.gradient_of);
    if (found == divided.end()) continue;
    plan.ops[op.id].output = found->second;
    absl::StrAppend(&plan.ops[op.id].reason, "; scattered as ", facts.op(*op.gradient_of).name, " is updated", setting);
  }
}

}  // namespace cleave
