#include "search/price/cost/inner_cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "base/check/check.h"
#include "ir/graph/ops/builder.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::search {
namespace {

// A graph with the group alone: the values that it reads are sources.
struct GroupGraph {
  ir::Graph graph;
  ir::Plan plan;
  std::map<ir::OpId, ir::OpId> places;  // In this graph, of the group and what it reads.
};

GroupGraph GraphOf(const GraphFacts& facts, const std::vector<ir::OpId>& group,
                   const std::function<const ir::Strategy&(ir::OpId)>& strategy_of, const ir::Mesh& mesh) {
  ir::GraphBuilder builder;
  GroupGraph result;
  result.plan.mesh = mesh;
  std::map<ir::OpId, ir::OpId>& places = result.places;
  const auto plan_op = [&](const ir::Strategy& strategy) {
    ir::OpPlan planned;
    planned.strategy = strategy;
    result.plan.ops.push_back(std::move(planned));
  };
  const auto place_input = [&](ir::OpId id, const ir::TensorType& type) {
    if (places.count(id) > 0) return;
    const ir::OpId source = builder.AddSource(type, facts.op(id).name);
    plan_op(ir::Strategy::Replicated(ir::RuleOf(builder.graph(), builder.graph().op(source))));
    places[id] = source;
  };
  for (ir::OpId member : group) {
    ir::Op copy = facts.op(member);
    copy.type = facts.value_type(member);
    for (size_t i = 0; i < copy.inputs.size(); ++i) {
      place_input(copy.inputs[i], facts.input_type(member, i));
      copy.inputs[i] = places[copy.inputs[i]];
    }
    copy.id = ir::OpId(static_cast<int64_t>(builder.graph().ops.size()));
    copy.gradient_of = std::nullopt;
    // The group stays one group, even if its root has no inner factor and is not in it.
    copy.inherits = std::nullopt;
    if (member != group.front()) copy.inherits = ir::Inheritance{.op = places.at(group.front()), .factors = {}};
    places[member] = copy.id;
    builder.mutable_graph().ops.push_back(std::move(copy));
    plan_op(strategy_of(member));
  }
  result.graph = std::move(builder).Build();
  return result;
}

// Of sending each rank's piece to the next one: so often as there are other ranks, it sends what an all-gather does.
Cost TurnCost(const ir::Op& op, const ir::Rule& rule, const ir::Strategy& strategy, int64_t times,
              RedistributionPrices& prices) {
  const auto axis = static_cast<size_t>(op.attributes.Get(ir::attribute::kAxis));
  const ir::AxisList& axes = strategy.cuts[static_cast<size_t>(rule.output[axis].front())];
  if (axes.empty()) return {};
  const ir::Layout pieces = ir::OutputLayout(strategy, rule);
  ir::Layout whole = pieces;
  whole.dimensions[axis].clear();
  const std::optional<Cost> gathered =
      prices.Price(prices.Intern(op.type, times), prices.Intern(pieces), prices.Intern(whole));
  CLEAVE_CHECK(gathered.has_value()) << op.name;
  const double turns = static_cast<double>(op.attributes.Get(ir::attribute::kPieces) - 1);
  return {.price = gathered->price / turns, .collectives = 1};
}

}  // namespace

Cost InnerCost(const GraphFacts& facts, const std::vector<ir::OpId>& group,
               const std::function<const ir::Strategy&(ir::OpId)>& strategy_of, RedistributionPrices& prices) {
  const auto is_cut = [&](ir::OpId member) {
    return ir::CutsInnerFactor(strategy_of(member), facts.rule(member), prices.mesh());
  };
  if (std::none_of(group.begin(), group.end(), is_cut)) return {};
  const GroupGraph own = GraphOf(facts, group, strategy_of, prices.mesh());
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(own.graph, own.plan);
  CLEAVE_CHECK(distributed.ok()) << distributed.status();
  const auto rule = [&](ir::OpId op) { return ir::RuleOf(distributed->graph, distributed->graph.op(op)); };
  IdVector<ir::OpId, std::vector<LayoutDemand>> demands(distributed->graph.ops.size());
  for (const ir::Op& reader : distributed->graph.ops) {
    for (size_t i = 0; i < reader.inputs.size(); ++i) {
      const ir::Layout wanted =
          ir::InputLayout(distributed->plan.ops[reader.id].strategy, rule(reader.id), static_cast<int>(i));
      demands[reader.inputs[i]].push_back({.layout = prices.Intern(wanted), .weight = 1});
    }
  }
  IdVector<ir::OpId, uint8_t> is_cut_in_group(own.graph.ops.size());
  for (const ir::OpId member : group) is_cut_in_group[own.places.at(member)] = is_cut(member);
  IdVector<ir::OpId, uint8_t> counted;
  for (const ir::OpId original : distributed->originals) counted.push_back(is_cut_in_group[original]);
  Cost total{.price = prices.KernelsOf(*distributed, counted) * static_cast<double>(facts.runs(group.front()))};
  for (const ir::Op& op : distributed->graph.ops) {
    if (!InnerValueIsPriced(op)) continue;
    const ir::OpPlan& planned = distributed->plan.ops[op.id];
    std::vector<LayoutDemand> wanted = demands[op.id];
    if (distributed->values[distributed->originals[op.id]] == op.id) {
      // Readers of the value are priced elsewhere, in the layout in which the replaced op makes it.
      wanted.clear();
      if (planned.output.has_value()) wanted.push_back({.layout = prices.Intern(*planned.output), .weight = 1});
    }
    const LayoutIndex produced = prices.Intern(ir::OutputLayout(planned.strategy, rule(op.id)));
    if (op.kind == ir::OpKind::kTurn)
      total = total + TurnCost(op, rule(op.id), planned.strategy, facts.runs(group.front()), prices);
    total = total + prices.Serve(prices.Intern(op.type, facts.runs(group.front())), produced, wanted);
  }
  return total;
}

}  // namespace cleave::search
