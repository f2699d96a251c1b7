#include "search/solve/sapp/classic_greedy.h"

#include <algorithm>

#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/twins.h"

namespace cleave::search {
namespace {

// Decides `product` by cutting `factor` (-1: none), and with it the bundles beside it that are open.
void Decide(Assignment& assignment, const Bundles& bundles, ir::OpId product, int factor, ir::AxisId axis) {
  const ir::Rule& rule = assignment.facts().rule(product);
  assignment.SetDecided(product, true);
  if (factor >= 0) {
    if (auto strategy = Moved(assignment.strategy(product), rule, assignment.mesh(), factor, axis)) {
      assignment.Apply(std::vector<Change>{{product, *strategy}});
    }
  }
  const GraphFacts& facts = assignment.facts();
  const auto open = [&](ir::OpId op) { return bundles.bundle_of[op] >= 0 && !assignment.decided(op); };
  const auto close = [&](ir::OpId op) {
    for (ir::OpId member : bundles.bundles[static_cast<size_t>(bundles.bundle_of[op])])
      assignment.SetDecided(member, true);
  };
  const bool reader_open = std::any_of(facts.reads[product].begin(), facts.reads[product].end(),
                                       [&](const Read& read) { return open(read.reader); });
  const bool maker_open = std::any_of(facts.op(product).inputs.begin(), facts.op(product).inputs.end(), open);
  if (maker_open) FollowUp(assignment, bundles, product, axis);
  if (reader_open) FollowDown(assignment, bundles, product, axis);
  for (const Read& read : facts.reads[product]) {
    if (open(read.reader)) close(read.reader);
  }
  for (ir::OpId input : facts.op(product).inputs) {
    if (open(input)) close(input);
  }
}

}  // namespace

std::vector<ir::OpId> ProductsOf(const GraphFacts& facts) {
  std::vector<ir::OpId> products;
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] == Role::kProduct) products.push_back(op.id);
  }
  return products;
}

namespace {

// The cost of the tensors that `axis` cuts differently where a decided product or light op makes or reads them.
double ClassicRedistribution(const Assignment& assignment, ir::OpId product, const ir::Strategy& strategy,
                             ir::AxisId axis, double weight) {
  const GraphFacts& facts = assignment.facts();
  const ir::Rule& rule = facts.rule(product);
  const auto counts = [&](ir::OpId op) { return facts.is_set(op) && assignment.decided(op); };
  double cost = 0;
  for (size_t i = 0; i < facts.op(product).inputs.size(); ++i) {
    const ir::OpId maker = facts.op(product).inputs[i];
    if (!counts(maker)) continue;
    const int own = DimensionCutBy(ir::InputLayout(strategy, rule, static_cast<int>(i)), axis);
    if (own != DimensionCutBy(assignment.seen(maker), axis)) {
      cost += weight * LocalInputElements(rule, Without(strategy, axis), assignment.mesh(), static_cast<int>(i));
    }
  }
  const int own = DimensionCutBy(ir::OutputLayout(strategy, rule), axis);
  for (const Read& read : facts.reads[product]) {
    if (facts.op(read.reader).phase != ir::Phase::kForward || !counts(read.reader)) continue;
    if (own != DimensionCutBy(assignment.wanted(read.reader, read.input), axis)) {
      cost += weight * LocalElements(rule, Without(strategy, axis), assignment.mesh(), rule.output);
    }
  }
  return cost;
}

}  // namespace

double GreedyByClassic(Assignment& assignment, const Bundles& bundles, const ClassicOptions& options) {
  const std::vector<ir::OpId> open = assignment.OpenOps();
  const Twins twins = TwinsAmong(assignment.facts(), open);
  std::vector<ir::OpId> products = ProductsOf(assignment.facts());
  std::reverse(products.begin(), products.end());
  double total = 0;
  for (ir::AxisId axis : assignment.mesh().AxisIds()) {
    for (ir::OpId op : open) assignment.SetDecided(op, false);
    for (ir::OpId product : products) {
      if (assignment.decided(product)) continue;
      const ir::Rule& rule = assignment.facts().rule(product);
      const ir::Strategy current = assignment.strategy(product);
      std::optional<std::pair<double, std::pair<ProductFactor, int>>> best;
      for (int factor : FactorsFor(current, rule, assignment.mesh(), axis)) {
        if (!ClassicAllows(rule, current, factor)) continue;
        const std::optional<ir::Strategy> cut = Moved(current, rule, assignment.mesh(), factor, axis);
        const double cost = ClassicFactorCost(rule, current, assignment.mesh(), factor, options) +
                            ClassicRedistribution(assignment, product, *cut, axis, options.redistribution_weight);
        const std::pair candidate(cost, std::pair(ProductFactorOf(rule, factor), factor));
        if (!best.has_value() || candidate < *best) best = candidate;
      }
      for (ir::OpId twin : twins.of(product)) {
        Decide(assignment, bundles, twin, best.has_value() ? best->second.second : -1, axis);
        if (best.has_value()) total += best->first;
      }
    }
    // Bundles next to no product are not decided yet: their ops follow their inputs.
    for (ir::OpId op : open) assignment.SetDecided(op, true);
    // A light op between twins is in the bundle of one of them only, so that the light ops of twins may differ: all
    // take the strategy of the last one.
    std::vector<Change> changes;
    for (const std::vector<ir::OpId>& alike : twins.lists) {
      for (ir::OpId twin : alike) changes.push_back({twin, assignment.strategy(alike.back())});
    }
    assignment.Apply(changes);
  }
  return total;
}

}  // namespace cleave::search
