#include "search/explain/classic_price.h"

#include <algorithm>
#include <vector>

#include "search/price/cost/classic.h"
#include "search/solve/assignment/assignment.h"
#include "search/solve/sapp/bundles.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

// `strategy` on the levels before `level`.
ir::Strategy Before(ir::Strategy strategy, ir::AxisId level) {
  for (ir::AxisList& axes : strategy.cuts) {
    axes.erase(std::remove_if(axes.begin(), axes.end(), [&](ir::AxisId axis) { return !(axis < level); }), axes.end());
  }
  return strategy;
}

class Levels {
 public:
  Levels(const GraphFacts& facts, const ir::Plan& plan)
      : facts_(facts), plan_(plan), bundles_(FindBundles(facts)), decided_(facts.graph->ops.size(), 0) {}

  double Sum() {
    double total = 0;
    for (ir::AxisId level : plan_.mesh.AxisIds()) {
      std::fill(decided_.begin(), decided_.end(), 0);
      for (size_t i = facts_.graph->ops.size(); i-- > 0;) {
        const ir::OpId op(static_cast<int64_t>(i));
        if (facts_.roles[op] != Role::kProduct) continue;
        total += CostOf(op, level);
        Decide(op);
      }
    }
    return total;
  }

 private:
  const ir::Strategy& strategy(ir::OpId op) const { return plan_.ops[op].strategy; }

  double CostOf(ir::OpId product, ir::AxisId level) const {
    const int factor = FactorCutBy(strategy(product), level);
    if (factor < 0) return 0;
    const ir::Rule& rule = facts_.rule(product);
    const ir::Strategy before = Before(strategy(product), level);
    return ClassicFactorCost(rule, before, plan_.mesh, factor) + Redistributions(product, before, level);
  }

  double Redistributions(ir::OpId product, const ir::Strategy& before, ir::AxisId level) const {
    const ir::Rule& rule = facts_.rule(product);
    const double weight = ClassicOptions().redistribution_weight;
    double cost = 0;
    for (size_t i = 0; i < facts_.op(product).inputs.size(); ++i) {
      const ir::OpId maker = facts_.op(product).inputs[i];
      const int input = static_cast<int>(i);
      if (!decided_[maker]) continue;
      const int own = DimensionCutBy(ir::InputLayout(strategy(product), rule, input), level);
      if (own != DimensionCutBy(Seen(maker), level)) {
        cost += weight * LocalInputElements(rule, before, plan_.mesh, input);
      }
    }
    const int own = DimensionCutBy(ir::OutputLayout(strategy(product), rule), level);
    for (const Read& read : facts_.reads[product]) {
      if (facts_.op(read.reader).phase != ir::Phase::kForward || !decided_[read.reader]) continue;
      const ir::Layout wanted = ir::InputLayout(strategy(read.reader), facts_.rule(read.reader), read.input);
      if (own != DimensionCutBy(wanted, level)) {
        cost += weight * LocalElements(rule, before, plan_.mesh, rule.output);
      }
    }
    return cost;
  }

  ir::Layout Seen(ir::OpId op) const {
    return plan_.ops[op].output.value_or(ir::OutputLayout(strategy(op), facts_.rule(op)));
  }

  // The light ops beside a product are decided with it.
  void Decide(ir::OpId product) {
    decided_[product] = 1;
    const auto close = [&](ir::OpId op) {
      if (bundles_.bundle_of[op] < 0 || decided_[op]) return;
      for (ir::OpId member : bundles_.bundles[static_cast<size_t>(bundles_.bundle_of[op])]) decided_[member] = 1;
    };
    for (const Read& read : facts_.reads[product]) close(read.reader);
    for (ir::OpId input : facts_.op(product).inputs) close(input);
  }

  const GraphFacts& facts_;
  const ir::Plan& plan_;
  const Bundles bundles_;
  IdVector<ir::OpId, uint8_t> decided_;
};

}  // namespace

double ClassicPrice(const GraphFacts& facts, const ir::Plan& plan) { return Levels(facts, plan).Sum(); }

}  // namespace cleave::search
