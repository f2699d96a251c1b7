#include "search/cost/cost.h"

#include <variant>

#include "ir/redistribute/redistribute.h"
#include "search/cost/facts.h"

namespace cleave {

Cost PlanCost(const Graph& graph, const Plan& plan) {
  const GraphFacts facts = FactsOf(graph);
  RedistributionPrices prices(plan.mesh);
  Cost total;
  for (const Op& op : graph.ops) {
    if (!facts.priced[op.id]) continue;
    const OpPlan& own = plan.ops[op.id];
    const double g = plan.gradient_weight;
    std::vector<RedistributionPrices::Demanded> demands;
    if (own.output.has_value()) {
      demands.push_back({.layout = prices.Intern(*own.output), .weight = facts.gradient[op.id] ? g : 1});
    }
    for (const Read& read : facts.reads[op.id]) {
      const Layout wanted = InputLayout(plan.ops[read.reader].strategy, facts.rule(read.reader), read.input);
      demands.push_back({.layout = prices.Intern(wanted), .weight = ReadWeight(facts, op.id, read.reader, g)});
    }
    const LayoutIndex produced = prices.Intern(OutputLayout(own.strategy, facts.rule(op.id)));
    total = total + prices.Serve(prices.Intern(op.type), produced, demands);
  }
  return total;
}

Cost ProgramCost(const Graph& graph, const Plan& plan, const Program& program) {
  const GraphFacts facts = FactsOf(graph);
  Cost total;
  for (const Step& step : program.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || step.phase == Phase::kMetric) continue;
    for (const Transfer& transfer : collective->transfers) {
      const Value& input = program.value(transfer.input);
      if (!facts.priced[input.origin]) continue;
      const bool light = facts.gradient[input.origin] || step.phase == Phase::kUpdate;
      const Move move{.collective = collective->kind,
                      .axes = collective->axes,
                      .reduction = collective->reduction,
                      .from_dimension = transfer.from_dimension,
                      .to_dimension = transfer.to_dimension,
                      .result = program.value(transfer.output).layout};
      const double bytes = MoveCost(plan.mesh, input.type, input.layout, move);
      total = total + Cost{.bytes = light ? plan.gradient_weight * bytes : bytes, .collectives = 1, .impossible = 0};
    }
  }
  return total;
}

}  // namespace cleave
