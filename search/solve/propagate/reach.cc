#include "search/solve/propagate/reach.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "search/model/facts/cuts.h"

namespace cleave::search {
namespace {

// Products at the same place of repeated layers whose rules are equal, in the order of the first product of each list.
std::vector<std::vector<ir::OpId>> RepeatedIn(const GraphFacts& facts) {
  std::map<std::pair<ir::TextPlace, int>, size_t> index;
  std::vector<std::vector<ir::OpId>> repeated;
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] != Role::kProduct) continue;
    const std::pair place(ir::PlaceOf(op), facts.rule_of[op.id]);
    const auto [found, is_new] = index.emplace(place, repeated.size());
    if (is_new) repeated.emplace_back();
    repeated[found->second].push_back(op.id);
  }
  return repeated;
}

bool Any(const std::vector<uint8_t>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](uint8_t flag) { return flag != 0; });
}

}  // namespace

Reach::Reach(const Assignment& assignment, const OpDemands& pins, const AxisGroup& group)
    : assignment_(assignment),
      facts_(assignment.facts()),
      group_(group),
      carries_(CarryingValues(assignment)),
      marked_(facts_.graph->ops.size()),
      reached_(facts_.graph->ops.size(), 0) {
  for (const ir::Op& op : facts_.graph->ops) marked_[op.id].assign(op.type.shape.size(), 0);
  for (const auto& [op, demand] : pins) Seed(op, demand);
  if (assignment.options().dataset.has_value()) {
    for (const ir::Op& op : facts_.graph->ops) {
      if (facts_.roles[op.id] == Role::kInput) Mark(op.id, assignment.seen(op.id));
    }
  }
  const std::vector<std::vector<ir::OpId>> repeated = RepeatedIn(facts_);
  while (Spread() || TakeFromOtherLayers(repeated, pins)) {
  }
}

void Reach::Seed(ir::OpId op, const OpDemand& demand) {
  if (demand.output.has_value()) Mark(op, *demand.output);
  if (!demand.strategy.has_value()) return;
  const ir::Rule& rule = facts_.rule(op);
  if (!demand.output.has_value()) Mark(op, ir::OutputLayout(*demand.strategy, rule));
  const std::vector<ir::OpId>& inputs = facts_.op(op).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (carries_[inputs[i]]) Mark(inputs[i], ir::InputLayout(*demand.strategy, rule, static_cast<int>(i)));
  }
}

void Reach::Mark(ir::OpId value, const ir::Layout& layout) {
  for (ir::AxisId axis : group_) {
    const int dimension = DimensionCutBy(layout, axis);
    if (dimension >= 0) marked_[value][static_cast<size_t>(dimension)] = 1;
  }
}

// Goes once forward and once backward; returns whether anything new was reached.
bool Reach::Spread() {
  bool any = false;
  const auto count = static_cast<int64_t>(facts_.graph->ops.size());
  for (int64_t i = 0; i < count; ++i) any |= Visit(ir::OpId(i));
  for (int64_t i = count; i-- > 0;) any |= Visit(ir::OpId(i));
  return any;
}

// Calls see(value, dimensions of the rule) for each tensor of the op through which cuts pass.
template <typename See>
void Reach::ForEachTensor(ir::OpId op, const See& see) const {
  const ir::Rule& rule = facts_.rule(op);
  const std::vector<ir::OpId>& inputs = facts_.op(op).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (carries_[inputs[i]]) see(inputs[i], rule.inputs[i]);
  }
  if (carries_[op]) see(op, rule.output);
}

// Calls see(factor) for the factors of a dimension that the axes of the group would cut, the most major ones first.
template <typename See>
void Reach::ForEachFactor(const ir::Rule& rule, const ir::FactorList& dimension, const See& see) const {
  const int64_t pieces = assignment_.mesh().Size(group_);
  int64_t taken = 1;
  for (int factor : dimension) {
    const ir::Factor& own = rule.factors[static_cast<size_t>(factor)];
    const int64_t most = MostPieces(rule, factor);
    if (most == 1) continue;
    if (own.kind == ir::FactorKind::kWhole || taken >= pieces) return;
    see(static_cast<size_t>(factor));
    taken *= most;
  }
}

// The factors of the op that may be cut, because a dimension of a tensor that may be cut is made of them.
std::vector<uint8_t> Reach::FactorsOf(ir::OpId op) const {
  const ir::Rule& rule = facts_.rule(op);
  std::vector<uint8_t> factors(rule.factors.size(), 0);
  ForEachTensor(op, [&](ir::OpId value, const std::vector<ir::FactorList>& dimensions) {
    for (size_t d = 0; d < dimensions.size(); ++d) {
      if (marked_[value][d]) ForEachFactor(rule, dimensions[d], [&](size_t factor) { factors[factor] = 1; });
    }
  });
  if (Any(factors) || facts_.roles[op] != Role::kProduct) return factors;
  for (size_t factor = 0; factor < factors.size(); ++factor) {
    factors[factor] = rule.factors[factor].kind != ir::FactorKind::kWhole && rule.factors[factor].size > 1;
  }
  return factors;
}

std::vector<int> Reach::factors(ir::OpId op) const {
  const std::vector<uint8_t> flags = FactorsOf(op);
  std::vector<int> factors;
  for (size_t factor = 0; factor < flags.size(); ++factor) {
    if (flags[factor]) factors.push_back(static_cast<int>(factor));
  }
  return factors;
}

bool Reach::MarkFactors(ir::OpId op, const std::vector<uint8_t>& factors) {
  const ir::Rule& rule = facts_.rule(op);
  bool any = false;
  ForEachTensor(op, [&](ir::OpId value, const std::vector<ir::FactorList>& dimensions) {
    if (assignment_.demands().count(value) > 0) return;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      ForEachFactor(rule, dimensions[d], [&](size_t factor) {
        if (factors[factor] && !std::exchange(marked_[value][d], uint8_t{1})) any = true;
      });
    }
  });
  return any;
}

bool Reach::Visit(ir::OpId op) {
  const Role role = facts_.roles[op];
  const bool passes = facts_.is_set(op) || role == Role::kData || role == Role::kCopy;
  if (!passes || assignment_.fixed(op)) return false;
  ForEachTensor(op, [&](ir::OpId value, const std::vector<ir::FactorList>&) {
    if (Any(marked_[value])) reached_[op] = 1;
  });
  return reached_[op] && MarkFactors(op, FactorsOf(op));
}

// Gives products that were not reached the factors of the same product in another of the repeated layers.
bool Reach::TakeFromOtherLayers(const std::vector<std::vector<ir::OpId>>& repeated, const OpDemands& pins) {
  bool any = false;
  for (const std::vector<ir::OpId>& products : repeated) {
    const auto model = std::find_if(products.begin(), products.end(), [&](ir::OpId op) {
      return reached_[op] || (pins.count(op) > 0 && CutsBy(assignment_, op, group_));
    });
    if (model == products.end()) continue;
    const std::vector<uint8_t> factors = FactorsOf(*model);
    for (ir::OpId product : products) {
      if (reached_[product] || assignment_.fixed(product)) continue;
      reached_[product] = 1;
      MarkFactors(product, factors);
      any = true;
    }
  }
  return any;
}

}  // namespace cleave::search
