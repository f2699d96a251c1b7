#include "search/knobs/aside.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/roles.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/cuts.h"

namespace cleave::search {
namespace {

bool IsFixed(const OpDemands& demands, ir::OpId op) {
  const auto found = demands.find(op);
  return found != demands.end() && found->second.strategy.has_value();
}

// The layout that readers of the op's value see.
ir::Layout LayoutOf(const GraphFacts& facts, const ir::Plan& plan, ir::OpId op) {
  const ir::OpPlan& made = plan.ops[op];
  return made.output.value_or(ir::OutputLayout(made.strategy, facts.rule(op)));
}

bool IsCut(const ir::Layout& layout) {
  return std::any_of(layout.dimensions.begin(), layout.dimensions.end(),
                     [](const auto& axes) { return !axes.empty(); });
}

void Follow(ir::OpPlan& plan, ir::Strategy strategy, std::string reason) {
  plan.strategy = std::move(strategy);
  plan.decided_by = ir::DecidedBy::kPropagation;
  plan.reason = std::move(reason);
  plan.choices.clear();
}

}  // namespace

void FollowAside(const GraphFacts& facts, const OpDemands& demands, bool data_is_placed, ir::Plan& plan) {
  const ir::Graph& graph = *facts.graph;
  // Data whose layout is not decided yet.
  const auto is_loose = [&](ir::OpId op) {
    return facts.is_unread_data(op) && !data_is_placed && !IsFixed(demands, op);
  };
  std::set<ir::OpId> placed;
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kAside) continue;
    const ir::Rule& rule = facts.rule(op.id);
    if (IsFixed(demands, op.id)) {
      // It stays.
    } else if (op.inherits.has_value()) {
      const ir::OpId forward = op.inherits->op;
      Follow(plan.ops[op.id], ir::InheritStrategy(plan.ops[forward].strategy, *op.inherits, rule, plan.mesh),
             absl::StrCat("no part of training: cut like the forward op ", graph.op(forward).name));
    } else {
      ir::Strategy strategy = ir::Strategy::Replicated(rule);
      std::string reason = "reads data that nothing else reads";
      std::pair<bool, int64_t> most = {false, -1};  // Whether the value is cut, and its elements.
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const ir::OpId input = op.inputs[i];
        if (is_loose(input) && placed.count(input) == 0) continue;
        const ir::Layout lies = LayoutOf(facts, plan, input);
        const std::pair<bool, int64_t> own = {IsCut(lies), graph.op(input).type.elements()};
        if (own <= most) continue;
        most = own;
        strategy = StrategyFromDimensions(lies, rule.inputs[i], rule, plan.mesh);
        reason = absl::StrCat("no part of training: takes ", graph.op(input).name, " as it lies");
      }
      Follow(plan.ops[op.id], std::move(strategy), std::move(reason));
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ir::OpId input = op.inputs[i];
      if (!is_loose(input) || !placed.insert(input).second) continue;
      const ir::Layout read = ir::InputLayout(plan.ops[op.id].strategy, rule, static_cast<int>(i)).WithoutWindows();
      const ir::Rule& stored = facts.rule(input);
      Follow(plan.ops[input], StrategyFromDimensions(read, stored.output, stored, plan.mesh),
             absl::StrCat("lies as ", op.name, " reads it"));
    }
  }
}

void FollowParameters(const GraphFacts& facts, const OpDemands& demands, ir::Plan& plan) {
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kUpdate || facts.updated_parameters[op.id] != op.id) continue;
    if (op.inputs.empty() || IsFixed(demands, op.id)) continue;
    const ir::Rule& rule = facts.rule(op.id);
    std::optional<size_t> largest;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!IsCut(LayoutOf(facts, plan, op.inputs[i]))) continue;
      const auto elements = [&](size_t input) { return facts.op(op.inputs[input]).type.elements(); };
      if (!largest.has_value() || elements(i) > elements(*largest)) largest = i;
    }
    if (!largest.has_value()) continue;
    const ir::OpId input = op.inputs[*largest];
    Follow(plan.ops[op.id],
           StrategyFromDimensions(LayoutOf(facts, plan, input), rule.inputs[*largest], rule, plan.mesh),
           absl::StrCat("of the update: takes ", facts.op(input).name, " as it lies"));
  }
}

std::optional<ir::Plan> GatheredForProducts(const GraphFacts& facts, const OpDemands& demands, const ir::Plan& plan) {
  const ir::Graph& graph = *facts.graph;
  const auto is_update = [&](ir::OpId op) { return facts.roles[op] == Role::kUpdate; };
  const auto is_product = [&](ir::OpId op) { return facts.classes[op] == ir::OpClass::kProduct; };
  IdVector<ir::OpId, uint8_t> follows(graph.ops.size(), 0), leads(graph.ops.size(), 0);  // Products of the update.
  for (const ir::Op& op : graph.ops) {
    if (!is_update(op.id)) continue;
    follows[op.id] = is_product(op.id) || std::any_of(op.inputs.begin(), op.inputs.end(),
                                                      [&](ir::OpId input) { return follows[input] != 0; });
  }
  std::optional<ir::Plan> gathered;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const ir::Op& op = graph.ops[ir::OpId(static_cast<int64_t>(i))];
    if (!is_update(op.id)) continue;
    if (leads[op.id] != 0 && follows[op.id] != 0 && !IsFixed(demands, op.id)) {
      const ir::Strategy whole = ir::Strategy::Replicated(facts.rule(op.id));
      if (plan.ops[op.id].strategy != whole) {
        if (!gathered.has_value()) gathered = plan;
        Follow(gathered->ops[op.id], whole, "between products of the update: whole, so that these send nothing");
      }
    }
    if (leads[op.id] == 0 && !is_product(op.id)) continue;
    for (const ir::OpId input : op.inputs) leads[input] = 1;
  }
  return gathered;
}

ir::Graph WithoutAside(const GraphFacts& facts) {
  ir::Graph all = *facts.graph;
  all.metrics.clear();
  all.looks.clear();
  IdVector<ir::OpId, ir::OpId> places;
  return ir::OnlyOps(
      std::move(all), [&](ir::OpId op) { return facts.roles[op] != Role::kAside; }, places);
}

ir::Plan WithoutAside(const GraphFacts& facts, ir::Plan plan) {
  const IdVector<ir::OpId, ir::OpPlan> all = std::exchange(plan.ops, {});
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kAside) plan.ops.push_back(all[op.id]);
  }
  return plan;
}

}  // namespace cleave::search
