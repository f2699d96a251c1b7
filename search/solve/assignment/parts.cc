#include "search/solve/assignment/parts.h"

#include <algorithm>
#include <vector>

namespace cleave::search {
namespace {

// The redistributions of a value, by weight.
struct ValueParts {
  double full = 0;
  double gradient = 0;
};

ValueParts MovesOf(Assignment& assignment, ir::OpId value) {
  const GraphFacts& facts = assignment.facts();
  StrategyTable& table = assignment.table();
  const double g = assignment.options().gradient_weight;
  std::vector<LayoutDemand> full, gradient;
  // Both lists ask for the same layouts in the same order, so that both are served in the same way.
  const auto demand = [&](LayoutIndex layout, double weight, bool light) {
    full.push_back({.layout = layout, .weight = light ? 0 : weight});
    gradient.push_back({.layout = layout, .weight = light ? weight : 0});
  };
  const bool own = facts.gradient[value] != 0;
  if (assignment.demanded_output(value).has_value()) demand(assignment.seen_index(value), own ? g : 1, own);
  for (const Read& read : facts.reads[value]) {
    const LayoutIndex wanted = assignment.input_index(read.reader, assignment.index(read.reader), read.input);
    demand(wanted, ReadWeight(facts, value, read.reader, g), own || facts.op(read.reader).phase == ir::Phase::kUpdate);
  }
  const LayoutIndex produced = assignment.output_index(value, assignment.index(value));
  return {.full = table.prices().Serve(table.type(value), produced, full).price,
          .gradient = table.prices().Serve(table.type(value), produced, gradient).price};
}

// Whether any of the reads for which the value is moved has the gradient weight.
bool HasGradientWeight(const GraphFacts& facts, ir::OpId value) {
  const std::vector<Read>& reads = facts.reads[value];
  return facts.gradient[value] != 0 || std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
           return facts.op(read.reader).phase == ir::Phase::kUpdate;
         });
}

bool Contains(const std::vector<ir::OpId>& ops, ir::OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

}  // namespace

ir::CostParts PartsAround(Assignment& assignment, ir::OpId op) {
  const GraphFacts& facts = assignment.facts();
  std::vector<ir::OpId> values = {op};
  const auto add = [&](ir::OpId id) {
    if (!Contains(values, id)) values.push_back(id);
  };
  for (ir::OpId input : facts.op(op).inputs) add(input);
  for (ir::OpId heir : facts.inheritors[op]) {
    add(heir);
    for (ir::OpId input : facts.op(heir).inputs) add(input);
  }
  ir::CostParts parts{.inside = assignment.LocalPriceOf(op)};
  for (ir::OpId value : values) {
    const Cost& cost = assignment.value_cost(value);
    parts.collectives += cost.collectives;
    if (cost.price == 0) continue;
    // Values whose moves are never priced only have the price of their distributed form.
    ValueParts moves;
    if (facts.priced[value]) moves = MovesOf(assignment, value);
    double& place = value == op ? parts.output : Contains(facts.op(op).inputs, value) ? parts.inputs : parts.backward;
    place += moves.full;
    parts.gradients += moves.gradient;
    parts.inside += cost.price - moves.full - moves.gradient;
  }
  return parts;
}

double GradientPart(Assignment& assignment, const std::vector<ir::OpId>& values) {
  const GraphFacts& facts = assignment.facts();
  double part = 0;
  for (ir::OpId value : values) {
    if (assignment.value_cost(value).price == 0 || !facts.priced[value] || !HasGradientWeight(facts, value)) continue;
    part += MovesOf(assignment, value).gradient;
  }
  return part;
}

}  // namespace cleave::search
