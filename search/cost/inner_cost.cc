#include "search/cost/inner_cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "base/check/check.h"
#include "ir/graph/ops/builder.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave {
namespace {

// A graph of the group alone: what it reads are sources.
struct GroupGraph {
  Graph graph;
  Plan plan;
};

GroupGraph GraphOf(const GraphFacts& facts, const std::vector<OpId>& group,
                   const std::function<const Strategy&(OpId)>& strategy_of, const Mesh& mesh) {
  GraphBuilder builder;
  GroupGraph result;
  result.plan.mesh = mesh;
  std::map<OpId, OpId> places;
  const auto plan_op = [&](const Strategy& strategy) {
    OpPlan planned;
    planned.strategy = strategy;
    result.plan.ops.push_back(std::move(planned));
  };
  const auto place_input = [&](OpId id) {
    if (places.count(id) > 0) return;
    const TensorType& type = facts.op(id).type;
    const OpId source = builder.Add(
        OpKind::kInput, {},
        {{attribute::kDType, type.dtype}, {attribute::kShape, type.shape}, {attribute::kData, std::string()}},
        facts.op(id).name);
    plan_op(Strategy::Replicated(RuleOf(builder.graph(), builder.graph().op(source))));
    places[id] = source;
  };
  for (OpId member : group) {
    Op copy = facts.op(member);
    for (OpId& input : copy.inputs) {
      place_input(input);
      input = places[input];
    }
    copy.id = OpId(static_cast<int64_t>(builder.graph().ops.size()));
    copy.gradient_of = std::nullopt;
    // One group, also where its root has no inner factor and is not there.
    copy.inherits = std::nullopt;
    if (member != group.front()) copy.inherits = Inheritance{.op = places.at(group.front()), .factors = {}};
    places[member] = copy.id;
    builder.mutable_graph().ops.push_back(std::move(copy));
    plan_op(strategy_of(member));
  }
  result.graph = std::move(builder).Build();
  return result;
}

}  // namespace

Cost InnerCost(const GraphFacts& facts, const std::vector<OpId>& group,
               const std::function<const Strategy&(OpId)>& strategy_of, RedistributionPrices& prices) {
  const bool cut = std::any_of(group.begin(), group.end(), [&](OpId member) {
    return CutsInnerFactor(strategy_of(member), facts.rule(member), prices.mesh());
  });
  if (!cut) return {};
  const GroupGraph own = GraphOf(facts, group, strategy_of, prices.mesh());
  const absl::StatusOr<Distributed> distributed = Distribute(own.graph, own.plan);
  CLEAVE_CHECK(distributed.ok()) << distributed.status();
  const auto rule = [&](OpId op) { return RuleOf(distributed->graph, distributed->graph.op(op)); };
  IdVector<OpId, std::vector<RedistributionPrices::Demanded>> demands(distributed->graph.ops.size());
  for (const Op& reader : distributed->graph.ops) {
    for (size_t i = 0; i < reader.inputs.size(); ++i) {
      const Layout wanted =
          InputLayout(distributed->plan.ops[reader.id].strategy, rule(reader.id), static_cast<int>(i));
      demands[reader.inputs[i]].push_back({.layout = prices.Intern(wanted), .weight = 1});
    }
  }
  Cost total;
  for (const Op& op : distributed->graph.ops) {
    if (!InnerValueIsPriced(op)) continue;
    const OpPlan& planned = distributed->plan.ops[op.id];
    std::vector<RedistributionPrices::Demanded> wanted = demands[op.id];
    if (distributed->values[distributed->originals[op.id]] == op.id) {
      // What reads the value is priced elsewhere, in the layout in which the op that was replaced makes it.
      wanted.clear();
      if (planned.output.has_value()) wanted.push_back({.layout = prices.Intern(*planned.output), .weight = 1});
    }
    const LayoutIndex produced = prices.Intern(OutputLayout(planned.strategy, rule(op.id)));
    total = total + prices.Serve(prices.Intern(op.type), produced, wanted);
  }
  return total;
}

}  // namespace cleave
