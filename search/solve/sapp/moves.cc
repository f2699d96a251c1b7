// Reading guide: each public function makes a list of strategies from the present one; Domain drops those that the
// freedom does not allow, numbers the others, and remembers the domain. AllStrategies is the list of all.
#include "search/solve/sapp/moves.h"

#include <algorithm>
#include <utility>

#include "search/model/facts/cuts.h"
#include "search/solve/sapp/choices.h"

namespace cleave::search {
namespace {

void AddNew(ir::Strategy strategy, std::vector<ir::Strategy>& strategies) {
  if (std::find(strategies.begin(), strategies.end(), strategy) == strategies.end()) {
    strategies.push_back(std::move(strategy));
  }
}

ir::Strategy WithoutAll(ir::Strategy strategy, const ir::AxisList& axes) {
  for (ir::AxisId axis : axes) strategy = Without(strategy, axis);
  return strategy;
}

}  // namespace

Moves::Moves(StrategyTable& table, Network& network, Freedom freedom)
    : table_(table), network_(network), freedom_(std::move(freedom)), all_axes_(table.mesh().AxisIds()) {}

template <typename Make>
int Moves::Domain(Kind kind, ir::OpId op, int present, const ir::AxisList& axes, const Make& make) {
  const GraphFacts& facts = table_.facts();
  std::vector<int> key = {static_cast<int>(kind), facts.rule_of[op], freedom_.class_of(op), requires_axes_, present};
  for (ir::AxisId axis : axes) key.push_back(axis.value());
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::vector<int> numbers;
  for (const ir::Strategy& strategy : make()) {
    // Without the axis, the cut of the other axes in a compound dimension may be invalid.
    if (!ir::VerifyStrategy(strategy, facts.rule(op), table_.mesh()).ok()) continue;
    const int number = table_.Intern(op, strategy);
    if (number != present && !IsAllowed(op, strategy, table_.strategy(op, present))) continue;
    if (requires_axes_ && number != present && !UsesRequired(op, strategy)) continue;
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
  }
  if (numbers.empty()) numbers.push_back(present);
  const int domain = network_.Domain(op, numbers);
  known_.emplace(std::move(key), domain);
  return domain;
}

bool Moves::IsRequired(ir::OpId op, ir::AxisId axis) const {
  const ir::AxisList& required = freedom_.of(op).required;
  return std::find(required.begin(), required.end(), axis) != required.end();
}

bool Moves::IsAllowed(ir::OpId op, const ir::Strategy& strategy, const ir::Strategy& now) const {
  const OpFreedom& own = freedom_.of(op);
  const bool keeps_closed =
      own.open.size() == all_axes_.size() || WithoutAll(strategy, own.open) == WithoutAll(now, own.open);
  return keeps_closed && Freedom::HasFactors(own, strategy, table_.facts().rule(op), table_.mesh());
}

bool Moves::UsesRequired(ir::OpId op, const ir::Strategy& strategy) const {
  return UsesAxes(strategy, table_.facts().rule(op), table_.mesh(), freedom_.of(op).required);
}

// The strategies with `axis` on some factor, at its place in the order of the mesh; `without` does not use it.
Moves::Strategies Moves::WithAxis(ir::OpId op, const ir::Strategy& without, ir::AxisId axis) const {
  const ir::Rule& rule = table_.facts().rule(op);
  Strategies strategies;
  for (int factor : FactorsFor(without, rule, table_.mesh(), axis)) {
    std::optional<ir::Strategy> cut = WithFactorCut(without, rule, table_.mesh(), factor, axis, all_axes_);
    if (!cut.has_value()) cut = Moved(without, rule, table_.mesh(), factor, axis);
    if (cut.has_value()) strategies.push_back(*std::move(cut));
  }
  if (strategies.empty() || !IsRequired(op, axis)) strategies.push_back(without);
  return strategies;
}

int Moves::Stay(ir::OpId op, int present) { return network_.Domain(op, {present}); }

int Moves::Axis(ir::OpId op, int present, ir::AxisId axis) {
  return Domain(Kind::kAxis, op, present, {axis}, [&] {
    const ir::Strategy& now = table_.strategy(op, present);
    Strategies strategies = WithAxis(op, Without(now, axis), axis);
    // An op may not stay where it leaves a required axis idle though it has elements for it.
    const bool may_stay = FactorCutBy(now, axis) >= 0 || strategies.back() == now;
    if (may_stay) {
      strategies.insert(strategies.begin(), now);
    }
    return strategies;
  });
}

int Moves::Together(ir::OpId op, int present, const ir::AxisList& axes) {
  return Domain(Kind::kTogether, op, present, axes, [&] {
    const ir::Rule& rule = table_.facts().rule(op);
    const ir::Strategy& now = table_.strategy(op, present);
    const ir::Strategy without = WithoutAll(now, axes);
    Strategies strategies = {now};
    for (int factor = 0; factor < static_cast<int>(rule.factors.size()); ++factor) {
      std::optional<ir::Strategy> cut = without;
      for (ir::AxisId axis : axes) {
        const std::vector<int> fitting = FactorsFor(*cut, rule, table_.mesh(), axis);
        const bool fits = std::find(fitting.begin(), fitting.end(), factor) != fitting.end();
        cut = fits ? WithFactorCut(*cut, rule, table_.mesh(), factor, axis, all_axes_) : std::nullopt;
        if (!cut.has_value()) break;
      }
      if (cut.has_value()) AddNew(*std::move(cut), strategies);
    }
    const bool is_required = std::any_of(axes.begin(), axes.end(), [&](auto axis) { return IsRequired(op, axis); });
    if (!is_required) AddNew(without, strategies);
    return strategies;
  });
}

int Moves::Each(ir::OpId op, int present, const ir::AxisList& axes) {
  return Domain(Kind::kEach, op, present, axes, [&] {
    const ir::Strategy& now = table_.strategy(op, present);
    Strategies reached = {WithoutAll(now, axes)};
    for (ir::AxisId axis : axes) {
      Strategies next;
      for (const ir::Strategy& strategy : reached) {
        for (ir::Strategy& cut : WithAxis(op, strategy, axis)) AddNew(std::move(cut), next);
      }
      reached = std::move(next);
    }
    reached.insert(reached.begin(), now);
    return reached;
  });
}

int Moves::Swap(ir::OpId op, int present, ir::AxisId a, ir::AxisId b) {
  return Domain(Kind::kSwap, op, present, {a, b}, [&] {
    const ir::Strategy& now = table_.strategy(op, present);
    ir::Strategy swapped = now;
    for (ir::AxisList& axes : swapped.cuts) {
      for (ir::AxisId& axis : axes) axis = axis == a ? b : axis == b ? a : axis;
    }
    const ir::Rule& rule = table_.facts().rule(op);
    Strategies strategies = {now};
    bool fits = ir::VerifyStrategy(swapped, rule, table_.mesh()).ok();
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      fits = fits &&
             (swapped.cuts[f].empty() || table_.mesh().Size(swapped.cuts[f]) <= MostPieces(rule, static_cast<int>(f)));
    }
    if (fits) strategies.push_back(std::move(swapped));
    return strategies;
  });
}

int Moves::Place(ir::OpId op, int present, ir::AxisId axis) {
  return Domain(Kind::kPlace, op, present, {axis}, [&] {
    const ir::Strategy& now = table_.strategy(op, present);
    Strategies strategies = {now};
    const int factor = FactorCutBy(now, axis);
    if (factor < 0) return strategies;
    const ir::Strategy without = Without(now, axis);
    const auto f = static_cast<size_t>(factor);
    for (size_t place = 0; place <= without.cuts[f].size(); ++place) {
      ir::Strategy moved = without;
      moved.cuts[f].insert(moved.cuts[f].begin() + static_cast<std::ptrdiff_t>(place), axis);
      if (ir::VerifyStrategy(moved, table_.facts().rule(op), table_.mesh()).ok()) AddNew(std::move(moved), strategies);
    }
    return strategies;
  });
}

int Moves::All(ir::OpId op, int present) {
  return Domain(Kind::kAll, op, present, {}, [&] {
    const ir::Strategy now = table_.strategy(op, present);
    Strategies strategies = AllStrategies(op, now);
    strategies.insert(strategies.begin(), now);
    return strategies;
  });
}

Moves::Strategies Moves::AllStrategies(ir::OpId op, const ir::Strategy& now) const {
  const ir::Rule& rule = table_.facts().rule(op);
  const ir::Mesh& mesh = table_.mesh();
  const ir::AxisList& open = freedom_.of(op).open;
  Strategies reached = {WithoutAll(now, open)};
  for (ir::AxisId axis : open) {
    Strategies next;
    for (const ir::Strategy& strategy : reached) {
      next.push_back(strategy);
      for (size_t f = 0; f < rule.factors.size(); ++f) {
        if (rule.factors[f].kind == ir::FactorKind::kWhole) continue;
        if (mesh.Size(strategy.cuts[f]) * mesh.axis(axis).size > MostPieces(rule, static_cast<int>(f))) continue;
        for (size_t place = 0; place <= strategy.cuts[f].size(); ++place) {
          next.push_back(strategy);
          ir::AxisList& axes = next.back().cuts[f];
          axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(place), axis);
        }
      }
    }
    reached = std::move(next);
  }
  const auto is_allowed = [&](const ir::Strategy& strategy) {
    return ir::VerifyStrategy(strategy, rule, mesh).ok() && UsesRequired(op, strategy);
  };
  reached.erase(std::remove_if(reached.begin(), reached.end(), [&](const ir::Strategy& s) { return !is_allowed(s); }),
                reached.end());
  return reached;
}

}  // namespace cleave::search
