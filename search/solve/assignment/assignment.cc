// Reading guide: Apply sets ops (Choose), finds what follows from them (Follow, in derive.cc), and prices the touched
// values again (Touch, Settle). Every change is in the journal, from which Rollback undoes it. PriceValue is the price
// of one value: PriceMoves its redistributions, PriceInside those in distributed forms.
#include "search/solve/assignment/assignment.h"

#include <algorithm>
#include <utility>

namespace cleave::search {

Assignment::Assignment(const GraphFacts& facts, const ir::Mesh& mesh, AssignmentOptions options,
                       const OpDemands& demands)
    : facts_(facts),
      options_(std::move(options)),
      pinned_(demands),
      table_(facts, mesh, {}, options_.prices, options_.tuning),
      chosen_(facts.graph->ops.size()),
      fixed_(facts.graph->ops.size()),
      decided_(facts.graph->ops.size(), 1),
      outputs_(facts.graph->ops.size(), -1),
      value_costs_(facts.graph->ops.size()),
      quiet_(facts.graph->ops.size()),
      is_dirty_(facts.graph->ops.size()),
      is_held_(facts.graph->ops.size()) {
  for (const auto& [op, demand] : demands) {
    if (demand.output.has_value()) outputs_[op] = table_.prices().Intern(*demand.output);
    if (!demand.strategy.has_value()) continue;
    chosen_[op] = Intern(op, *demand.strategy);
    fixed_[op] = 1;
  }
  for (const ir::Op& op : facts.graph->ops) {
    quiet_[op.id] = !facts.priced[op.id] || facts.updated_parameters[op.id] != op.id;
    cost_.price += table_.LocalPrice(op.id, chosen_[op.id]) * static_cast<double>(facts.times[op.id]);
  }
  for (const ir::Op& op : facts.graph->ops) {
    Touch(op.id);
    if (facts.roles[op.id] == Role::kParameter || facts.roles[op.id] == Role::kCopy) DeriveStorage(op.id);
    Follow(op.id);
  }
  Settle();
  journal_.clear();
}

std::vector<ir::OpId> Assignment::OpenOps() const {
  std::vector<ir::OpId> open;
  for (ir::OpId op : facts_.set_ops) {
    if (!fixed_[op]) open.push_back(op);
  }
  return open;
}

const ir::Layout& Assignment::seen(ir::OpId op) const { return table_.layout(seen_index(op)); }

std::optional<ir::Layout> Assignment::demanded_output(ir::OpId op) const {
  if (outputs_[op] < 0) return std::nullopt;
  return table_.layout(outputs_[op]);
}

void Assignment::Touch(ir::OpId op) {
  if (is_dirty_[op] || (quiet_[op] && facts_.inner_groups[op].empty())) return;
  is_dirty_[op] = 1;
  dirty_.push_back(op);
}

void Assignment::Choose(ir::OpId op, int strategy) {
  if (chosen_[op] == strategy) return;
  journal_.push_back({.op = op, .strategy = chosen_[op], .cost = {}, .total = cost_, .is_cost = false});
  cost_.price +=
      (table_.LocalPrice(op, strategy) - table_.LocalPrice(op, chosen_[op])) * static_cast<double>(facts_.times[op]);
  chosen_[op] = strategy;
  Touch(op);
  if (facts_.roles[op] == Role::kInherits && !facts_.inner_groups[facts_.op(op).inherits->op].empty()) {
    Touch(facts_.op(op).inherits->op);
  }
  for (ir::OpId input : facts_.op(op).inputs) Touch(input);
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

void Assignment::Release() {
  holds_ = false;
  for (ir::OpId op : std::exchange(held_, {})) {
    is_held_[op] = 0;
    FollowNow(op);
  }
  Settle();
}

void Assignment::Settle() {
  if (holds_) return;
  for (ir::OpId op : dirty_) {
    is_dirty_[op] = 0;
    const Cost price = PriceValue(op);
    if (price == value_costs_[op]) continue;
    journal_.push_back({.op = op, .strategy = 0, .cost = value_costs_[op], .total = cost_, .is_cost = true});
    cost_ = cost_ + (price - value_costs_[op]) * facts_.times[op];
    value_costs_[op] = price;
  }
  dirty_.clear();
}

void Assignment::Rollback(int mark) {
  while (static_cast<int>(journal_.size()) > mark) {
    const Record& record = journal_.back();
    cost_ = record.total;
    if (record.is_cost) {
      value_costs_[record.op] = record.cost;
    } else {
      chosen_[record.op] = record.strategy;
    }
    journal_.pop_back();
  }
}

std::vector<ir::OpId> Assignment::RecordedSince(int mark, bool is_cost) const {
  std::vector<ir::OpId> ops;
  for (size_t i = static_cast<size_t>(mark); i < journal_.size(); ++i) {
    if (journal_[i].is_cost == is_cost) ops.push_back(journal_[i].op);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

bool Assignment::IsDecided(ir::OpId op) const {
  const ir::Op& self = facts_.op(op);
  if (facts_.roles[op] == Role::kInherits) return decided_[self.inherits->op];
  if (facts_.roles[op] == Role::kSum && self.gradient_of.has_value()) return decided_[*self.gradient_of];
  return decided_[op];
}

void Assignment::SetDecided(ir::OpId op, bool decided) {
  decided_[op] = decided ? 1 : 0;
  const auto touch = [&](ir::OpId id) {
    Touch(id);
    for (ir::OpId input : facts_.op(id).inputs) Touch(input);
  };
  touch(op);
  for (ir::OpId heir : facts_.inheritors[op]) touch(heir);
  for (ir::OpId sum : facts_.sums[op]) touch(sum);
  Settle();
}

// The least price of a partial sum, whatever reads it: a reduce-scatter into some dimension, or an all-reduce.
Cost Assignment::Resolve(ir::OpId value) {
  RedistributionPrices& prices = table_.prices();
  const ir::Layout& layout = produced(value);
  if (!layout.is_partial() || !facts_.priced[value]) return {};
  std::optional<Cost> least;
  for (size_t d = 0; d <= layout.dimensions.size(); ++d) {
    ir::Layout resolved{.dimensions = layout.dimensions, .partial = {}};
    if (d < layout.dimensions.size()) {
      for (ir::AxisId axis : layout.PartialAxes()) resolved.dimensions[d].push_back(axis);
    }
    const std::optional<Cost> price = prices.Price(table_.type(value), produced_index(value), prices.Intern(resolved));
    if (price.has_value() && (!least.has_value() || Cheaper(*price, *least))) least = price;
  }
  return least.value_or(Cost{});
}

Cost Assignment::PriceValue(ir::OpId value) {
  if (!IsDecided(value)) return {};
  const Cost inside = PriceInside(value);
  return quiet_[value] ? inside : inside + PriceMoves(value);
}

Cost Assignment::PriceInside(ir::OpId root) {
  const std::vector<ir::OpId>& group = facts_.inner_groups[root];
  if (group.empty()) return {};
  std::vector<int> strategies;
  for (ir::OpId member : group) strategies.push_back(chosen_[member]);
  const auto [found, is_new] = inner_costs_.emplace(std::pair(facts_.inner_kinds[root], std::move(strategies)), Cost{});
  if (is_new) {
    found->second = InnerCost(
        facts_, group, [this](ir::OpId op) -> const ir::Strategy& { return strategy(op); }, table_.prices());
  }
  return found->second;
}

Cost Assignment::PriceMoves(ir::OpId value) {
  const double g = options_.gradient_weight;
  demands_.clear();
  bool read = false;
  if (outputs_[value] >= 0) demands_.push_back({.layout = outputs_[value], .weight = facts_.gradient[value] ? g : 1});
  for (const Read& edge : facts_.reads[value]) {
    if (!IsDecided(edge.reader)) continue;
    read = true;
    demands_.push_back(
        {.layout = wanted_index(edge.reader, edge.input), .weight = ReadWeight(facts_, value, edge.reader, g)});
  }
  if (!read && !facts_.reads[value].empty()) return Resolve(value);
  return table_.prices().Serve(table_.type(value), produced_index(value), demands_);
}

double Assignment::LocalPriceOf(ir::OpId op) {
  double price = table_.LocalPrice(op, chosen_[op]);
  for (ir::OpId heir : facts_.inheritors[op]) price += table_.LocalPrice(heir, chosen_[heir]);
  return price;
}

Cost Assignment::CostAround(ir::OpId op) {
  std::vector<ir::OpId> values = {op};
  const auto add = [&](ir::OpId id) {
    if (std::find(values.begin(), values.end(), id) == values.end()) values.push_back(id);
  };
  for (ir::OpId input : facts_.op(op).inputs) add(input);
  for (ir::OpId heir : facts_.inheritors[op]) {
    add(heir);
    for (ir::OpId input : facts_.op(heir).inputs) add(input);
  }
  Cost total{.price = LocalPriceOf(op)};
  for (ir::OpId value : values) total = total + value_costs_[value];
  return total;
}

}  // namespace cleave::search
