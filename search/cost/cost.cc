#include "search/cost/cost.h"

#include <map>
#include <variant>
#include <vector>

#include "ir/program/redistribute/redistribute.h"
#include "search/cost/inner_cost.h"

namespace cleave::search {
namespace {

using Demands = std::vector<LayoutDemand>;

// The states that take each value at the end of a step.
using StatesOf = IdVector<ir::OpId, std::vector<ir::OpId>>;

// The price of the redistributions of `op`'s value. What is made for one reader serves later readers too, unless it is
// made again in each phase.
Cost ValueCost(const GraphFacts& facts, const ir::Plan& plan, const ir::Op& op, const StatesOf& states,
               RedistributionPrices& prices) {
  const ir::OpPlan& own = plan.ops[op.id];
  const double g = plan.gradient_weight;
  std::map<ir::Phase, Demands> demands;
  const bool keeps_copies = own.retention == ir::Retention::kKeep || own.retention == ir::Retention::kOffload;
  const auto demand = [&](ir::Phase phase, const ir::Layout& layout, double weight) {
    demands[keeps_copies ? op.phase : phase].push_back({.layout = prices.Intern(layout), .weight = weight});
  };
  if (own.output.has_value()) {
    // Also parts of sums over micro-batches are sent as soon as they are made.
    const auto times = static_cast<double>(facts.HasSamples(op.id) ? 1 : facts.runs(op.id));
    demand(op.phase, *own.output, times * (facts.gradient[op.id] ? g : 1));
  }
  for (const Read& read : facts.reads[op.id]) {
    const auto times =
        static_cast<double>(ReadTimes(facts, op.id, read.reader, own.retention == ir::Retention::kRedistribute));
    demand(facts.op(read.reader).phase,
           ir::InputLayout(plan.ops[read.reader].strategy, facts.rule(read.reader), read.input),
           times * ReadWeight(facts, op.id, read.reader, g));
  }
  for (const ir::OpId state : states[op.id]) {
    // A state is kept as its own strategy says, whatever layout its readers see.
    demand(ir::Phase::kUpdate, ir::OutputLayout(plan.ops[state].strategy, facts.rule(state)), g);
  }
  const LayoutIndex produced = prices.Intern(ir::OutputLayout(own.strategy, facts.rule(op.id)));
  Cost cost;
  for (const auto& [phase, wanted] : demands) {
    cost = cost + prices.Serve(prices.Intern(facts.value_type(op.id), facts.moves(op.id)), produced, wanted);
  }
  return cost;
}

}  // namespace

Cost PlanCost(const GraphFacts& facts, const ir::Plan& plan, const Prices& prices) {
  RedistributionPrices redistributions(plan.mesh, {}, prices.redistribution);
  StatesOf states(facts.graph->ops.size());
  for (const ir::StateUpdate& update : facts.graph->updates) states[update.value].push_back(update.state);
  Cost total;
  for (const ir::Op& op : facts.graph->ops) {
    if (prices.local != nullptr && prices.local_kind(op.id) != 0) {
      total.price += prices.local(op.id, plan.ops[op.id].strategy);
    }
    if (facts.priced[op.id]) total = total + ValueCost(facts, plan, op, states, redistributions);
    const auto strategy_of = [&](ir::OpId id) -> const ir::Strategy& { return plan.ops[id].strategy; };
    total = total + InnerCost(facts, facts.inner_groups[op.id], strategy_of, redistributions);
  }
  return total;
}

Cost ProgramCost(const GraphFacts& facts, const ir::Distributed& distributed, const ir::Program& program) {
  Cost total;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* collective = ir::CommunicationOf(program, step);
    if (collective == nullptr || step.phase == ir::Phase::kMetric) continue;
    for (const ir::Transfer& transfer : collective->transfers) {
      const ir::Value& input = program.value(transfer.input);
      const ir::OpId op = distributed.originals[input.origin];
      const bool is_inner = distributed.values[op] != input.origin;
      if (is_inner ? !InnerValueIsPriced(distributed.graph.op(input.origin)) : !facts.priced[op]) continue;
      const bool light = (!is_inner && facts.gradient[op]) || step.phase == ir::Phase::kUpdate;
      const ir::Move move{.collective = collective->kind,
                          .axes = collective->axes,
                          .reduction = collective->reduction,
                          .from_dimension = transfer.from_dimension,
                          .to_dimension = transfer.to_dimension,
                          .result = program.value(transfer.output).layout};
      const double bytes =
          ir::MoveCost(program.mesh, input.type, input.layout, move) * static_cast<double>(ir::RunsOf(program, step));
      total =
          total +
          Cost{.price = light ? distributed.plan.gradient_weight * bytes : bytes, .collectives = 1, .impossible = 0};
    }
  }
  return total;
}

}  // namespace cleave::search
