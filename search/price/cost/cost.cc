#include "search/price/cost/cost.h"

#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/program/redistribute/redistribute.h"
#include "search/price/cost/inner_cost.h"

namespace cleave::search {
namespace {

// The states that take each value at the end of a step.
using StatesOf = IdVector<ir::OpId, std::vector<ir::OpId>>;

// The prices of one plan. What depends on a rule and a strategy alone is found once, because equal layers have equal
// ones.
class PlanPricer {
 public:
  PlanPricer(const GraphFacts& facts, const ir::Plan& plan, const Prices& prices)
      : facts_(facts),
        plan_(plan),
        prices_(prices),
        redistributions_(plan.mesh, facts.graph->sums, {}, prices),
        states_(facts.graph->ops.size()),
        known_(facts.rules.size()) {
    for (const ir::StateUpdate& update : facts.graph->updates) states_[update.value].push_back(update.state);
  }

  Cost Total() {
    Cost total;
    for (const ir::Op& op : facts_.graph->ops) {
      Cost own = InnerCostOf(op.id);
      if (facts_.priced[op.id]) own = own + ValueCost(op);
      own.price += LocalPrice(op.id);
      total = total + own * facts_.times[op.id];
    }
    return total;
  }

 private:
  // A strategy of ops of one rule.
  struct Known {
    ir::Strategy strategy;
    int number = 0;  // Among those of the rule.
    LayoutIndex output = 0;
    std::vector<LayoutIndex> inputs;
    std::map<int, double> local;  // Prices::local, by local kind.
  };

  Known& KnownOf(ir::OpId op) {
    std::deque<Known>& known = known_[static_cast<size_t>(facts_.rule_of[op])];
    const ir::Strategy& strategy = plan_.ops[op].strategy;
    for (Known& other : known) {
      if (other.strategy == strategy) return other;
    }
    const ir::Rule& rule = facts_.rule(op);
    Known own{.strategy = strategy,
              .number = static_cast<int>(known.size()),
              .output = redistributions_.Intern(ir::OutputLayout(strategy, rule)),
              .inputs = {},
              .local = {}};
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      own.inputs.push_back(redistributions_.Intern(ir::InputLayout(strategy, rule, static_cast<int>(i))));
    }
    return known.emplace_back(std::move(own));
  }

  double LocalPrice(ir::OpId op) {
    const int kind = prices_.local == nullptr ? 0 : prices_.local_kind(op);
    if (kind == 0) return 0;
    const auto [found, is_new] = KnownOf(op).local.emplace(kind, 0.0);
    if (is_new) found->second = prices_.local(op, plan_.ops[op].strategy);
    return found->second;
  }

  // The price of the redistributions of `op`'s value. What is made for one reader serves later readers too, unless it
  // is made again in each phase.
  Cost ValueCost(const ir::Op& op) {
    const ir::OpPlan& own = plan_.ops[op.id];
    const double g = plan_.gradient_weight;
    std::map<ir::Phase, std::vector<LayoutDemand>> demands;
    const bool keeps_copies = own.retention == ir::Retention::kKeep || own.retention == ir::Retention::kOffload;
    const auto demand = [&](ir::Phase phase, LayoutIndex layout, double weight) {
      demands[keeps_copies ? op.phase : phase].push_back({.layout = layout, .weight = weight});
    };
    if (own.output.has_value()) {
      // Also parts of sums over micro-batches are sent as soon as they are made.
      const auto times = static_cast<double>(facts_.HasSamples(op.id) ? 1 : facts_.runs(op.id));
      demand(op.phase, redistributions_.Intern(*own.output), times * (facts_.gradient[op.id] ? g : 1));
    }
    for (const Read& read : facts_.reads[op.id]) {
      const auto times =
          static_cast<double>(ReadTimes(facts_, op.id, read.reader, own.retention == ir::Retention::kRedistribute));
      demand(facts_.op(read.reader).phase, KnownOf(read.reader).inputs[static_cast<size_t>(read.input)],
             times * ReadWeight(facts_, op.id, read.reader, g));
    }
    // A state is kept as its own strategy says, whatever layout its readers see.
    for (const ir::OpId state : states_[op.id]) demand(ir::Phase::kUpdate, KnownOf(state).output, g);
    const TypeIndex type = redistributions_.TypeOf(facts_, op.id);
    const LayoutIndex produced = KnownOf(op.id).output;
    Cost cost;
    for (const auto& [phase, wanted] : demands) cost = cost + redistributions_.Serve(type, produced, wanted);
    return cost;
  }

  // Of the redistributions inside of the distributed forms of the op and of those that inherit from it.
  Cost InnerCostOf(ir::OpId op) {
    const std::vector<ir::OpId>& group = facts_.inner_groups[op];
    if (group.empty()) return {};
    std::vector<int> numbers;
    for (const ir::OpId member : group) numbers.push_back(KnownOf(member).number);
    const auto [found, is_new] = inner_.emplace(std::pair(facts_.inner_kinds[op], std::move(numbers)), Cost{});
    if (is_new) {
      const auto strategy_of = [&](ir::OpId id) -> const ir::Strategy& { return plan_.ops[id].strategy; };
      found->second = InnerCost(facts_, group, strategy_of, redistributions_);
    }
    return found->second;
  }

  const GraphFacts& facts_;
  const ir::Plan& plan_;
  const Prices& prices_;
  RedistributionPrices redistributions_;
  StatesOf states_;
  std::vector<std::deque<Known>> known_;                    // By rule.
  std::map<std::pair<int, std::vector<int>>, Cost> inner_;  // By the kind of a group and the strategies of its ops.
};

}  // namespace

Cost PlanCost(const GraphFacts& facts, const ir::Plan& plan, const Prices& prices) {
  return PlanPricer(facts, plan, prices).Total();
}

Cost ProgramCost(const GraphFacts& facts, const ir::Distributed& distributed, const ir::Program& program) {
  Cost total;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* collective = ir::CommunicationOf(program, step);
    if (collective == nullptr || step.phase == ir::Phase::kMetric) continue;
    for (const ir::Transfer& transfer : collective->transfers) {
      const ir::Value& input = program.value(transfer.input);
      // What goes round does so for the op of which it is a part.
      const ir::OpId origin = collective->turn == 0 ? input.origin : program.value(transfer.output).origin;
      const ir::OpId op = distributed.originals[origin];
      const bool is_inner = distributed.values[op] != origin;
      if (is_inner ? !InnerValueIsPriced(distributed.graph.op(origin)) : !facts.priced[op]) continue;
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
