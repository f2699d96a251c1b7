// Reading guide: OthersFor tries each strategy of StrategiesOf: Cheapest applies it to the assignment with the light
// ops around staying or following, and rolls back. ChoicesOf adds the present strategy, and shares the list among
// products with equal Surroundings.
#include "search/solve/sapp/alternatives.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "search/solve/assignment/parts.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

// Per factor and kind of link the number of slices.
std::string SlicesOf(const ir::Strategy& strategy, const ir::Mesh& mesh) {
  std::string text;
  for (const ir::AxisList& axes : strategy.cuts) {
    std::map<std::string, int64_t> slices;
    for (ir::AxisId axis : axes) slices.emplace(mesh.axis(axis).link, 1).first->second *= mesh.axis(axis).size;
    for (const auto& [link, count] : slices) absl::StrAppend(&text, link, "=", count, " ");
    absl::StrAppend(&text, "|");
  }
  return text;
}

bool SameCost(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

// `strategy` with all of `moved` on `factor`; nullopt where that is not valid or there are no elements for an axis.
std::optional<ir::Strategy> WithMoved(ir::Strategy strategy, const ir::Rule& rule, const ir::Mesh& mesh, int factor,
                                      const ir::AxisList& moved) {
  for (ir::AxisId axis : moved) strategy = Without(strategy, axis);
  for (ir::AxisId axis : moved) {
    const std::vector<int> fitting = FactorsFor(strategy, rule, mesh, axis);
    if (std::find(fitting.begin(), fitting.end(), factor) == fitting.end()) return std::nullopt;
    strategy = *Moved(strategy, rule, mesh, factor, axis);
  }
  return strategy;
}

// The changes of ops that a search sets since `mark`; the others follow from them.
std::vector<IndexedChange> IndexedChangesSince(const Assignment& assignment, int mark) {
  std::vector<IndexedChange> changes;
  for (ir::OpId op : assignment.SetSince(mark)) {
    if (assignment.facts().is_set(op)) changes.push_back({op, assignment.index(op)});
  }
  return changes;
}

// The same with the strategies themselves.
std::vector<Change> ChangesSince(const Assignment& assignment, int mark) {
  std::vector<Change> changes;
  for (const IndexedChange& change : IndexedChangesSince(assignment, mark)) {
    changes.push_back({change.op, assignment.strategy(change.op)});
  }
  return changes;
}

}  // namespace

// Each axis alone, and all together. Of the axes of one size and link that cut the same factor only the innermost one
// is moved, because moving another one would shift the pieces of the axes inside of it too.
std::vector<ir::AxisList> Alternatives::MovesOf(const ir::Strategy& current) const {
  const ir::Mesh& mesh = assignment_.mesh();
  const ir::AxisList axes = mesh.AxisIds();
  std::map<std::string, ir::AxisId> innermost;
  for (ir::AxisId axis : axes) {
    const ir::MeshAxis& own = mesh.axis(axis);
    innermost.insert_or_assign(absl::StrCat(FactorCutBy(current, axis), " ", own.size, " ", own.link), axis);
  }
  std::vector<ir::AxisList> moves;
  for (ir::AxisId axis : axes) {
    const auto is_axis = [&](const auto& entry) { return entry.second == axis; };
    if (std::any_of(innermost.begin(), innermost.end(), is_axis)) moves.push_back({axis});
  }
  if (axes.size() > 1) moves.push_back(axes);
  return moves;
}

std::vector<ir::Strategy> Alternatives::StrategiesOf(ir::OpId product) const {
  const ir::Rule& rule = assignment_.facts().rule(product);
  const ir::Strategy current = assignment_.strategy(product);
  std::vector<ir::Strategy> strategies;
  for (const ir::AxisList& moved : MovesOf(current)) {
    for (int factor = 0; factor < static_cast<int>(rule.factors.size()); ++factor) {
      const std::optional<ir::Strategy> strategy = WithMoved(current, rule, assignment_.mesh(), factor, moved);
      if (!strategy.has_value() || *strategy == current) continue;
      if (std::find(strategies.begin(), strategies.end(), *strategy) == strategies.end()) {
        strategies.push_back(*strategy);
      }
    }
  }
  return strategies;
}

// The cheapest plan in which `product` has `strategy`. The light ops below, above, or on both sides stay as they are or
// follow on the axes that move; where many axes move, they follow on both sides or on none. nullopt where no such plan
// can be made.
std::optional<Alternative> Alternatives::Cheapest(ir::OpId product, const ir::Strategy& strategy) {
  ir::AxisList moved;
  for (ir::AxisId axis : assignment_.mesh().AxisIds()) {
    if (FactorCutBy(strategy, axis) != FactorCutBy(assignment_.strategy(product), axis)) moved.push_back(axis);
  }
  if (moved.empty()) moved = assignment_.mesh().AxisIds();  // Only the order of the axes differs.
  const auto apply = [&](int variant) {
    assignment_.Hold();
    assignment_.Apply(std::vector<Change>{{product, strategy}});
    for (ir::AxisId axis : moved) {
      if (variant & 1) FollowDown(assignment_, bundles_, product, axis);
      if (variant & 2) FollowUp(assignment_, bundles_, product, axis);
    }
    assignment_.Release();
  };
  const int mark = assignment_.mark();
  std::vector<IndexedChange> best;
  Cost least;
  for (int variant = 0; variant<4; variant += moved.size()> 1 ? 3 : 1) {
    apply(variant);
    const Cost cost = assignment_.cost();
    if (variant == 0 || Cheaper(cost, least)) {
      best = IndexedChangesSince(assignment_, mark);
      least = cost;
    }
    assignment_.Rollback(mark);
  }
  if (least.impossible > 0) return std::nullopt;
  const Cost before = assignment_.cost();
  const Cost around = assignment_.CostAround(product);
  const ir::CostParts own = PartsAround(assignment_, product);
  assignment_.Apply(best);
  ir::CostParts parts = PartsAround(assignment_, product);
  const std::vector<ir::OpId> priced = assignment_.PricedSince(mark);
  const double gradients = GradientPart(assignment_, priced);
  const std::vector<Change> changes = ChangesSince(assignment_, mark);
  assignment_.Rollback(mark);
  parts.gradients = own.gradients + gradients - GradientPart(assignment_, priced);
  const double cost = around.price + (least - before).price;
  parts.elsewhere += cost - parts.sum();
  if (SameCost(cost, cost + parts.elsewhere)) parts.elsewhere = 0;
  parts.collectives = around.collectives + least.collectives - before.collectives;
  return Alternative{.choice = {.strategy = strategy, .cost = cost, .chosen = false, .parts = parts},
                     .changes = changes};
}

std::vector<Alternative> Alternatives::OthersFor(ir::OpId product) {
  std::vector<Alternative> all;
  for (const ir::Strategy& strategy : StrategiesOf(product)) {
    std::optional<Alternative> alternative = Cheapest(product, strategy);
    if (alternative.has_value()) all.push_back(*std::move(alternative));
  }
  std::stable_sort(all.begin(), all.end(), [](const Alternative& a, const Alternative& b) {
    return Cheaper({.price = a.choice.cost, .collectives = a.choice.parts->collectives},
                   {.price = b.choice.cost, .collectives = b.choice.parts->collectives});
  });
  std::vector<Alternative> kept;
  for (Alternative& alternative : all) {
    if (kept.size() == assignment_.options().tuning.alternatives) break;
    const std::string slices = SlicesOf(alternative.choice.strategy, assignment_.mesh());
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Alternative& other) {
      return SameCost(other.choice.cost, alternative.choice.cost) &&
             SlicesOf(other.choice.strategy, assignment_.mesh()) == slices;
    });
    if (!known) kept.push_back(std::move(alternative));
  }
  return kept;
}

// A key with everything on which the prices of a product's choices depend: the values around it and the layouts in
// which they are read, with layers counted from its own, so that equal layers have equal keys. A bundle that runs
// through all layers is named by its number.
std::string Alternatives::Surroundings(ir::OpId product) const {
  const GraphFacts& facts = assignment_.facts();
  const ir::LoopPasses& own = facts.op(product).repetition.passes;
  const int64_t layer = own.empty() ? 0 : own[0].number;
  std::string text;
  const auto name = [&](ir::OpId op) {
    absl::StrAppend(&text, ir::PlaceOf(facts.op(op)));
    const ir::LoopPasses& passes = facts.op(op).repetition.passes;
    for (size_t i = 0; i < passes.size(); ++i) {
      absl::StrAppend(&text, ",", passes[i].number - (i == 0 ? layer : 0));
    }
    absl::StrAppend(&text, " ", facts.rule_of[op], " ", assignment_.index(op), ";");
  };
  const auto bundle = [&](ir::OpId op) {
    const int index = bundles_.bundle_of[op];
    if (index < 0) return;
    const std::vector<ir::OpId>& members = bundles_.bundles[static_cast<size_t>(index)];
    const auto layer_of = [&](ir::OpId member) { return facts.op(member).repetition.passes; };
    const bool is_local = !own.empty() && layer_of(members.front()) == layer_of(members.back());
    absl::StrAppend(&text, is_local ? "own bundle;" : absl::StrCat("bundle ", index, ";"));
  };
  const auto value = [&](ir::OpId op) {
    name(op);
    const Cost& cost = assignment_.value_cost(op);
    absl::StrAppend(&text, cost.price, " ", cost.collectives, ":");
    bundle(op);
    for (const Read& read : facts.reads[op]) {
      name(read.reader);
      bundle(read.reader);
    }
    absl::StrAppend(&text, "\n");
  };
  value(product);
  for (ir::OpId input : facts.op(product).inputs) value(input);
  for (ir::OpId heir : facts.inheritors[product]) {
    value(heir);
    for (ir::OpId input : facts.op(heir).inputs) value(input);
  }
  return text;
}

std::vector<ir::Choice> Alternatives::ChoicesOf(ir::OpId product) {
  const auto [found, is_new] = known_.emplace(Surroundings(product), std::vector<ir::Choice>());
  if (is_new) {
    RedistributionPrices& prices = assignment_.table().prices();
    const ir::RedistributionEffort effort = prices.effort();
    const int full_axes = assignment_.options().tuning.full_alternatives_axes;
    if (assignment_.mesh().axis_count() > full_axes) prices.set_effort(ir::RedistributionEffort::kDirect);
    found->second.push_back({.strategy = assignment_.strategy(product),
                             .cost = assignment_.CostAround(product).price,
                             .chosen = true,
                             .parts = PartsAround(assignment_, product)});
    for (Alternative& alternative : OthersFor(product)) found->second.push_back(std::move(alternative.choice));
    prices.set_effort(effort);
  }
  return found->second;
}

}  // namespace cleave::search
