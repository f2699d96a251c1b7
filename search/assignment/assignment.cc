#include "search/assignment/assignment.h"

#include <algorithm>

namespace cleave {
namespace {

// A strategy as numbers: per factor its axes and -1, then the passes.
std::vector<int> KeyOf(const Strategy& strategy) {
  std::vector<int> key;
  for (const std::vector<AxisId>& axes : strategy.cuts) {
    for (AxisId axis : axes) key.push_back(axis.value());
    key.push_back(-1);
  }
  for (const PassThrough& pass : strategy.passes) {
    key.push_back(pass.axis.value());
    key.push_back(pass.group);
  }
  return key;
}

}  // namespace

Assignment::Assignment(const GraphFacts& facts, const Mesh& mesh, AssignmentOptions options,
                       const std::map<OpId, Demand>& demands)
    : facts_(facts),
      options_(std::move(options)),
      prices_(mesh),
      tables_(facts.rules.size()),
      table_index_(facts.rules.size()),
      chosen_(facts.graph->ops.size()),
      types_(facts.graph->ops.size()),
      fixed_(facts.graph->ops.size()),
      decided_(facts.graph->ops.size(), 1),
      outputs_(facts.graph->ops.size(), -1),
      value_costs_(facts.graph->ops.size()),
      quiet_(facts.graph->ops.size()),
      inner_groups_(facts.graph->ops.size()),
      inner_kinds_(facts.graph->ops.size()),
      is_dirty_(facts.graph->ops.size()) {
  for (const Op& op : facts.graph->ops) {
    types_[op.id] = prices_.Intern(op.type);
    chosen_[op.id] = Intern(op.id, Strategy::Replicated(facts.rule(op.id)));
  }
  for (const auto& [op, demand] : demands) {
    if (demand.output.has_value()) outputs_[op] = prices_.Intern(*demand.output);
    if (!demand.strategy.has_value()) continue;
    chosen_[op] = Intern(op, *demand.strategy);
    fixed_[op] = 1;
  }
  for (const Op& op : facts.graph->ops) {
    if (!facts.priced[op.id]) quiet_[op.id] = 1;
    for (OpId member : facts.update_groups[op.id]) quiet_[member] = 1;
  }
  std::map<std::string, int> kinds;
  for (const Op& op : facts.graph->ops) {
    inner_groups_[op.id] = InnerGroupOf(facts, op.id);
    const std::string text = InnerGroupText(facts, inner_groups_[op.id]);
    inner_kinds_[op.id] = kinds.emplace(text, static_cast<int>(kinds.size())).first->second;
  }
  for (const Op& op : facts.graph->ops) {
    Touch(op.id);
    if (facts.roles[op.id] == Role::kParameter) DeriveStorage(op.id);
    Follow(op.id);
  }
  Settle();
  journal_.clear();
}

int Assignment::Intern(OpId op, const Strategy& strategy) {
  const auto rule_index = static_cast<size_t>(facts_.rule_of[op]);
  std::vector<Entry>& table = tables_[rule_index];
  const auto [found, is_new] = table_index_[rule_index].emplace(KeyOf(strategy), static_cast<int>(table.size()));
  if (is_new) {
    const Rule& rule = facts_.rules[rule_index];
    Entry entry{.strategy = strategy, .inputs = {}, .output = prices_.Intern(OutputLayout(strategy, rule))};
    for (size_t i = 0; i < rule.inputs.size(); ++i) {
      entry.inputs.push_back(prices_.Intern(InputLayout(strategy, rule, static_cast<int>(i))));
    }
    table.push_back(std::move(entry));
  }
  return found->second;
}

const Layout& Assignment::seen(OpId op) const {
  return outputs_[op] >= 0 ? prices_.layout(outputs_[op]) : produced(op);
}

std::optional<Layout> Assignment::demanded_output(OpId op) const {
  if (outputs_[op] < 0) return std::nullopt;
  return prices_.layout(outputs_[op]);
}

void Assignment::Touch(OpId op) {
  if (is_dirty_[op] || (quiet_[op] && inner_groups_[op].empty())) return;
  is_dirty_[op] = 1;
  dirty_.push_back(op);
}

void Assignment::Choose(OpId op, int strategy) {
  if (chosen_[op] == strategy) return;
  journal_.push_back({.op = op, .strategy = chosen_[op], .cost = {}, .total = {}, .is_cost = false});
  chosen_[op] = strategy;
  ++work_;
  Touch(op);
  if (facts_.roles[op] == Role::kInherits && !inner_groups_[facts_.op(op).inherits->op].empty()) {
    Touch(facts_.op(op).inherits->op);
  }
  for (OpId input : facts_.op(op).inputs) Touch(input);
  Follow(op);
}

void Assignment::Apply(const std::vector<IndexedChange>& changes) {
  for (const IndexedChange& change : changes) {
    if (!fixed_[change.op]) Choose(change.op, change.strategy);
  }
  Settle();
}

void Assignment::Apply(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    if (!fixed_[change.op]) Choose(change.op, Intern(change.op, change.strategy));
  }
  Settle();
}

void Assignment::Settle() {
  for (OpId op : dirty_) {
    is_dirty_[op] = 0;
    const Cost price = PriceValue(op);
    if (price == value_costs_[op]) continue;
    journal_.push_back({.op = op, .strategy = 0, .cost = value_costs_[op], .total = cost_, .is_cost = true});
    cost_ = cost_ - value_costs_[op] + price;
    value_costs_[op] = price;
  }
  dirty_.clear();
}

void Assignment::Rollback(int mark) {
  while (static_cast<int>(journal_.size()) > mark) {
    const Record& record = journal_.back();
    if (record.is_cost) {
      cost_ = record.total;
      value_costs_[record.op] = record.cost;
    } else {
      chosen_[record.op] = record.strategy;
    }
    journal_.pop_back();
  }
}

bool Assignment::IsDecided(OpId op) const {
  const Op& self = facts_.op(op);
  if (facts_.roles[op] == Role::kInherits) return decided_[self.inherits->op];
  if (facts_.roles[op] == Role::kSum && self.gradient_of.has_value()) return decided_[*self.gradient_of];
  return decided_[op];
}

void Assignment::SetDecided(OpId op, bool decided) {
  decided_[op] = decided ? 1 : 0;
  const auto touch = [&](OpId id) {
    Touch(id);
    for (OpId input : facts_.op(id).inputs) Touch(input);
  };
  touch(op);
  for (OpId heir : facts_.inheritors[op]) touch(heir);
  Settle();
}

// The least that a partial sum costs, whoever reads it: a reduce-scatter into some dimension, or an all-reduce.
Cost Assignment::Resolve(OpId value) {
  const Layout& layout = prices_.layout(entry(value).output);
  if (!layout.is_partial() || !facts_.priced[value]) return {};
  std::optional<Cost> least;
  for (size_t d = 0; d <= layout.dimensions.size(); ++d) {
    Layout resolved{.dimensions = layout.dimensions, .partial = {}};
    if (d < layout.dimensions.size()) {
      for (AxisId axis : layout.PartialAxes()) resolved.dimensions[d].push_back(axis);
    }
    const std::optional<Cost> price = prices_.Price(types_[value], entry(value).output, prices_.Intern(resolved));
    if (price.has_value() && (!least.has_value() || Cheaper(*price, *least))) least = price;
  }
  return least.value_or(Cost{});
}

Cost Assignment::PriceValue(OpId value) {
  if (!IsDecided(value)) return {};
  const Cost inside = PriceInside(value);
  return quiet_[value] ? inside : inside + PriceMoves(value);
}

// A distributed form that is built takes as long as some hundred lookups.
Cost Assignment::PriceInside(OpId root) {
  constexpr int64_t kWorkOfForm = 100;
  const std::vector<OpId>& group = inner_groups_[root];
  if (group.empty()) return {};
  std::vector<int> strategies;
  for (OpId member : group) strategies.push_back(chosen_[member]);
  const auto [found, is_new] = inner_costs_.emplace(std::pair(inner_kinds_[root], std::move(strategies)), Cost{});
  if (is_new) {
    work_ += kWorkOfForm;
    found->second = InnerCost(facts_, group, [this](OpId op) -> const Strategy& { return strategy(op); }, prices_);
  }
  return found->second;
}

Cost Assignment::PriceMoves(OpId value) {
  const double g = options_.gradient_weight;
  demands_.clear();
  bool read = false;
  if (outputs_[value] >= 0) demands_.push_back({.layout = outputs_[value], .weight = facts_.gradient[value] ? g : 1});
  for (const Read& edge : facts_.reads[value]) {
    if (!IsDecided(edge.reader)) continue;
    read = true;
    demands_.push_back({.layout = entry(edge.reader).inputs[static_cast<size_t>(edge.input)],
                        .weight = ReadWeight(facts_, value, edge.reader, g)});
  }
  if (!read && !facts_.reads[value].empty()) return Resolve(value);
  return prices_.Serve(types_[value], entry(value).output, demands_);
}

Cost Assignment::CostAround(OpId op) {
  std::vector<OpId> values = {op};
  const auto add = [&](OpId id) {
    if (std::find(values.begin(), values.end(), id) == values.end()) values.push_back(id);
  };
  for (OpId input : facts_.op(op).inputs) add(input);
  for (OpId heir : facts_.inheritors[op]) {
    add(heir);
    for (OpId input : facts_.op(heir).inputs) add(input);
  }
  Cost total;
  for (OpId value : values) total = total + value_costs_[value];
  return total;
}

}  // namespace cleave
