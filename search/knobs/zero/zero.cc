#include "search/knobs/zero/zero.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/cuts.h"

namespace cleave::search {
namespace {

ir::AxisList FreeAxes(const ir::Layout& layout, const ir::Mesh& mesh) {
  std::set<ir::AxisId> used;
  for (const ir::AxisList& axes : layout.dimensions) used.insert(axes.begin(), axes.end());
  ir::AxisList free;
  for (ir::AxisId axis : mesh.AxisIds()) {
    if (used.count(axis) == 0) free.push_back(axis);
  }
  std::stable_sort(free.begin(), free.end(),
                   [&](ir::AxisId a, ir::AxisId b) { return mesh.axis(a).weight < mesh.axis(b).weight; });
  return free;
}

ir::Layout WithAxes(ir::Layout layout, size_t dimension, const ir::AxisList& axes) {
  ir::AxisList& cut = layout.dimensions[dimension];
  cut.insert(cut.end(), axes.begin(), axes.end());
  return layout;
}

// The layout in which `axes` cut the one dimension that gives the smallest largest piece, the first of equal ones.
ir::Layout CutOneDimension(const ir::Layout& layout, const ir::Mesh& mesh, const ir::Shape& shape,
                           const ir::AxisList& axes) {
  std::optional<int64_t> least;
  ir::Layout best = layout;
  for (size_t d = 0; d < shape.size(); ++d) {
    ir::Layout candidate = WithAxes(layout, d, axes);
    const int64_t largest = ir::ElementCount(ir::LargestLocalShape(candidate, mesh, shape));
    if (least.has_value() && *least <= largest) continue;
    least = largest;
    best = std::move(candidate);
  }
  return best;
}

// The strategies that make values in given layouts. Those of equal layers are found once.
class StrategiesByLayout {
 public:
  StrategiesByLayout(const GraphFacts& facts, const ir::Mesh& mesh) : facts_(facts), mesh_(mesh) {}

  ir::Strategy Of(ir::OpId op, const ir::Layout& layout) {
    const ir::Rule& rule = facts_.rule(op);
    for (const Known& known : known_) {
      if (known.rule == &rule && known.layout == layout) return known.strategy;
    }
    known_.push_back({&rule, layout, StrategyFromDimensions(layout, rule.output, rule, mesh_)});
    return known_.back().strategy;
  }

 private:
  struct Known {
    const ir::Rule* rule = nullptr;  // Equal ops have the same one.
    ir::Layout layout;
    ir::Strategy strategy;
  };
  const GraphFacts& facts_;
  const ir::Mesh& mesh_;
  std::vector<Known> known_;
};

// The plan of a copy of the parameter whose plan is `parameter`: the copy is cut in the same way, so that the copy is
// what is gathered.
ir::OpPlan DividedCopy(const GraphFacts& facts, const ir::OpPlan& parameter, ir::OpId copy, int level,
                       const ir::Plan& plan, StrategiesByLayout& strategies) {
  ir::OpPlan own = plan.ops[copy];
  own.strategy = strategies.Of(copy, ir::OutputLayout(parameter.strategy, facts.rule(facts.op(copy).inputs[0])));
  if (level == 3) own.retention = ir::Retention::kRedistribute;
  own.reason = parameter.reason;
  return own;
}

// Whether forward and backward pass read the parameter by copies in 16 bits alone.
bool IsReadByCopies(const GraphFacts& facts, ir::OpId parameter) {
  bool has_copies = false;
  for (const Read& read : facts.reads[parameter]) {
    if (facts.op(read.reader).phase == ir::Phase::kUpdate) continue;
    if (facts.roles[read.reader] != Role::kCopy) return false;
    has_copies = true;
  }
  return has_copies;
}

}  // namespace

ir::Layout DividedLayout(const ir::Layout& storage, const ir::Mesh& mesh, const ir::Shape& shape) {
  const ir::AxisList free = FreeAxes(storage, mesh);
  ir::Layout together = CutOneDimension(storage, mesh, shape, free);
  bool reaches_all = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    reaches_all = reaches_all || mesh.Size(WithAxes(storage, d, free).dimensions[d]) <= shape[d];
  }
  if (reaches_all) return together;
  ir::Layout apart = storage;
  for (ir::AxisId axis : free) apart = CutOneDimension(apart, mesh, shape, {axis});
  const auto largest = [&](const ir::Layout& layout) {
    return ir::ElementCount(ir::LargestLocalShape(layout, mesh, shape));
  };
  return 2 * largest(apart) <= largest(together) ? apart : together;
}

void ShardReplicas(const GraphFacts& facts, const OpDemands& demands, int level, ir::Plan& plan) {
  CLEAVE_CHECK(level >= 0 && level <= 3) << "level " << level;
  if (level == 0) return;
  const std::string setting = absl::StrCat(" (zero = ", level, ")");
  std::map<ir::OpId, ir::Layout> divided;  // By parameter.
  StrategiesByLayout strategies(facts, plan.mesh);
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kParameter || op.type.rank() == 0) continue;
    ir::OpPlan& own = plan.ops[op.id];
    const ir::Layout storage = ir::OutputLayout(own.strategy, facts.rule(op.id));
    const ir::Layout layout = DividedLayout(storage, plan.mesh, op.type.shape);
    if (layout == storage) continue;
    divided.emplace(op.id, layout);
    for (ir::OpId member : facts.update_groups[op.id]) {
      ir::OpPlan& update = plan.ops[member];
      update.strategy = strategies.Of(member, layout);
      update.reason = absl::StrCat("divided among the replicas of ", op.name, setting);
    }
    if ((level < 3 && !IsReadByCopies(facts, op.id)) || demands.count(op.id) > 0) continue;
    own.strategy = strategies.Of(op.id, layout);
    if (level == 3) own.retention = ir::Retention::kRedistribute;
    absl::StrAppend(&own.reason, ", divided among its replicas", setting);
    for (const Read& read : facts.reads[op.id]) {
      if (facts.roles[read.reader] != Role::kCopy) continue;
      plan.ops[read.reader] = DividedCopy(facts, own, read.reader, level, plan, strategies);
    }
  }
  if (level < 2) return;
  for (const ir::Op& op : facts.graph->ops) {
    if (op.phase != ir::Phase::kBackward || !op.gradient_of.has_value()) continue;
    const auto found = divided.find(*op.gradient_of);
    if (found == divided.end()) continue;
    plan.ops[op.id].output = found->second;
    absl::StrAppend(&plan.ops[op.id].reason, "; scattered as ", facts.op(*op.gradient_of).name, " is updated", setting);
  }
}

}  // namespace cleave::search
