#include "search/network/network.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "search/cost/inner_cost.h"

namespace cleave::search {
namespace {

// Numbers over the choices of some of a term's variables.
struct Column {
  std::vector<int> variables;  // Local, ascending.
  std::vector<int> numbers;    // Row-major over their domains.
  std::vector<int> strides;    // Per local variable of the term; 0 where it has no effect.
};

// Counts through all choices of some variables, the last one fastest.
class Odometer {
 public:
  Odometer(std::vector<int> variables, const std::vector<int>& sizes)
      : variables_(std::move(variables)), sizes_(sizes), digits_(sizes.size(), 0) {}

  const std::vector<int>& digits() const { return digits_; }
  bool Next() {
    for (size_t i = variables_.size(); i-- > 0;) {
      const auto variable = static_cast<size_t>(variables_[i]);
      if (++digits_[variable] < sizes_[variable]) return true;
      digits_[variable] = 0;
    }
    return false;
  }

 private:
  std::vector<int> variables_;
  const std::vector<int>& sizes_;
  std::vector<int> digits_;
};

// The layouts that one tensor of a term has over the choices of its variables.
struct LayoutColumn {
  int formula = 0;                   // The places of `numbers` are those of its column.
  std::vector<size_t> numbers;       // Of `layouts`.
  std::vector<LayoutIndex> layouts;  // Each once, in the order in which they come first.
};

// The strategy that each formula of a term gives, for all choices of its variables.
class Columns {
 public:
  Columns(StrategyTable& table, const TermKind& kind, const std::vector<const std::vector<int>*>& domains)
      : table_(table), kind_(kind), domains_(domains) {
    for (const std::vector<int>* domain : domains) sizes_.push_back(static_cast<int>(domain->size()));
    for (const StrategyFormula& formula : kind.formulas) columns_.push_back(ColumnOf(formula));
  }

  const std::vector<int>& sizes() const { return sizes_; }
  // The strategy numbers of a formula over its own variables, and the place of a choice among them.
  const std::vector<int>& numbers(int formula) const { return columns_[static_cast<size_t>(formula)].numbers; }
  size_t Place(int formula, const std::vector<int>& digits) const {
    const Column& column = columns_[static_cast<size_t>(formula)];
    int place = 0;
    for (int variable : column.variables) {
      place += digits[static_cast<size_t>(variable)] * column.strides[static_cast<size_t>(variable)];
    }
    return static_cast<size_t>(place);
  }
  int Number(int formula, const std::vector<int>& digits) const { return numbers(formula)[Place(formula, digits)]; }
  // The layouts in which the formula's op reads its input `slot`, or makes its value for slot -1.
  LayoutColumn LayoutsOf(int formula, int slot) const {
    const ir::OpId op = kind_.formulas[static_cast<size_t>(formula)].op;
    LayoutColumn column{.formula = formula, .numbers = {}, .layouts = {}};
    absl::flat_hash_map<LayoutIndex, size_t> known;
    for (int number : numbers(formula)) {
      const LayoutIndex layout = slot < 0 ? table_.output(op, number) : table_.input(op, number, slot);
      const auto [found, is_new] = known.emplace(layout, column.layouts.size());
      if (is_new) column.layouts.push_back(layout);
      column.numbers.push_back(found->second);
    }
    return column;
  }
  LayoutIndex Seen(int formula, const std::vector<int>& digits) const {
    const StrategyFormula& own = kind_.formulas[static_cast<size_t>(formula)];
    return own.seen >= 0 ? own.seen : table_.output(own.op, Number(formula, digits));
  }
  LayoutIndex Wanted(int formula, int slot, const std::vector<int>& digits) const {
    return table_.input(kind_.formulas[static_cast<size_t>(formula)].op, Number(formula, digits), slot);
  }

 private:
  Column ColumnOf(const StrategyFormula& formula) {
    Column column;
    if (formula.kind == StrategyFormula::Kind::kVariable) column.variables.push_back(formula.number);
    for (int input : formula.inputs) {
      for (int variable : columns_[static_cast<size_t>(input)].variables) {
        const auto place = std::lower_bound(column.variables.begin(), column.variables.end(), variable);
        if (place == column.variables.end() || *place != variable) column.variables.insert(place, variable);
      }
    }
    column.strides.assign(sizes_.size(), 0);
    int stride = 1;
    for (size_t i = column.variables.size(); i-- > 0;) {
      const auto variable = static_cast<size_t>(column.variables[i]);
      column.strides[variable] = stride;
      stride *= sizes_[variable];
    }
    column.numbers.reserve(static_cast<size_t>(stride));
    Odometer odometer(column.variables, sizes_);
    do {
      column.numbers.push_back(Evaluate(formula, odometer.digits()));
    } while (odometer.Next());
    return column;
  }

  int Evaluate(const StrategyFormula& formula, const std::vector<int>& digits) {
    switch (formula.kind) {
      case StrategyFormula::Kind::kVariable: {
        const auto variable = static_cast<size_t>(formula.number);
        return (*domains_[variable])[static_cast<size_t>(digits[variable])];
      }
      case StrategyFormula::Kind::kNumber:
        return formula.number;
      case StrategyFormula::Kind::kInherited:
        return table_.Inherited(formula.op, Number(formula.inputs[0], digits));
      case StrategyFormula::Kind::kStored:
        return table_.LyingLike(formula.op, Wanted(formula.inputs[0], formula.slots[0], digits));
      case StrategyFormula::Kind::kUpdated:
        return table_.LyingLike(formula.op, Seen(formula.inputs[0], digits));
      case StrategyFormula::Kind::kSum: {
        layouts_.clear();
        for (int input : formula.inputs) layouts_.push_back(Seen(input, digits));
        std::optional<LayoutIndex> value;
        if (formula.has_value) {
          value = layouts_.back();
          layouts_.pop_back();
        }
        return table_.Sum(formula.op, layouts_, value);
      }
      case StrategyFormula::Kind::kData:
        layouts_.clear();
        for (size_t i = 0; i < formula.inputs.size(); ++i) {
          layouts_.push_back(Wanted(formula.inputs[i], formula.slots[i], digits));
        }
        return table_.Data(formula.op, layouts_);
      case StrategyFormula::Kind::kDataFrom:
        return table_.DataFrom(formula.op, Seen(formula.inputs[0], digits));
      case StrategyFormula::Kind::kBatchCut:
        return table_.BatchCut(formula.op);
    }
    return 0;
  }

  StrategyTable& table_;
  const TermKind& kind_;
  const std::vector<const std::vector<int>*>& domains_;
  std::vector<int> sizes_;
  std::vector<Column> columns_;
  std::vector<LayoutIndex> layouts_;
};

// What the redistributions of a term's value cost. Many choices of strategies give the same layouts, whose cost is
// found once.
class Moves {
 public:
  // `most`: the number of choices.
  Moves(StrategyTable& table, const TermKind& kind, const Columns& columns, double weight, size_t most)
      : table_(table), kind_(kind), columns_(columns) {
    tensors_.push_back(columns.LayoutsOf(kind.made, -1));
    const LayoutIndex seen = kind.formulas[static_cast<size_t>(kind.made)].seen;
    if (seen >= 0) demands_.push_back({.layout = seen, .weight = weight});
    for (const TermRead& read : kind.reads) {
      tensors_.push_back(columns.LayoutsOf(read.formula, read.slot));
      demands_.push_back({.layout = 0, .weight = read.weight});
    }
    size_t combinations = 1;
    for (const LayoutColumn& tensor : tensors_) combinations = std::min(combinations * tensor.layouts.size(), most + 1);
    if (combinations <= most) known_.resize(combinations);
  }

  Cost CostOf(const std::vector<int>& digits) {
    size_t combination = 0;
    const size_t first_read = demands_.size() - kind_.reads.size();
    LayoutIndex produced = 0;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const LayoutColumn& tensor = tensors_[i];
      const size_t number = tensor.numbers[columns_.Place(tensor.formula, digits)];
      combination = combination * tensor.layouts.size() + number;
      (i == 0 ? produced : demands_[first_read + i - 1].layout) = tensor.layouts[number];
    }
    if (known_.empty()) return Serve(produced);
    std::optional<Cost>& known = known_[combination];
    if (!known.has_value()) known = Serve(produced);
    return *known;
  }

 private:
  Cost Serve(LayoutIndex produced) { return table_.prices().Serve(table_.type(kind_.value), produced, demands_); }

  StrategyTable& table_;
  const TermKind& kind_;
  const Columns& columns_;
  std::vector<LayoutColumn> tensors_;  // The value as it is made, then as each of `kind.reads` wants it.
  std::vector<RedistributionPrices::Demanded> demands_;
  std::vector<std::optional<Cost>> known_;  // By the layouts of the tensors; empty where that is longer than `most`.
};

CostTable Multiple(const CostTable& table, int64_t times) {
  CostTable result = table;
  for (int64_t& cost : result.costs) cost = cost >= kForbidden / times ? kForbidden : cost * times;
  return result;
}

// The number of mesh axes that no factor of the strategy uses.
int IdleAxes(const ir::Strategy& strategy, const ir::Mesh& mesh) {
  int idle = mesh.axis_count() - static_cast<int>(strategy.passes.size());
  for (const std::vector<ir::AxisId>& axes : strategy.cuts) idle -= static_cast<int>(axes.size());
  return idle;
}

}  // namespace

Network::Network(StrategyTable& table, const OpDemands& demands, const AssignmentOptions& assignment, Options options)
    : table_(table),
      options_(std::move(options)),
      terms_(TermsOf(table, demands, assignment, options_.folding.has_value() ? &*options_.folding : nullptr)),
      gradient_weight_(assignment.gradient_weight),
      entries_(options_.entries.value_or(assignment.tuning.term_entries)) {
  // With 2^50 units for the scale of the price there is room for a plan that moves everything many times, and the price
  // of plans has twelve digits. The scale is a power of two, so scaling is exact.
  const double scale = table.paid().scale;
  double total = scale > 0 ? scale : 1;
  for (const ir::Op& op : table.facts().graph->ops) {
    if (scale == 0) total += static_cast<double>(op.type.bytes().value());
    total += table.LocalPrice(op.id, 0);
  }
  total *= std::max(1.0, gradient_weight_);
  unit_ = std::exp2(std::ceil(std::log2(total)) - 50);
}

int64_t Network::Units(const Cost& cost) const {
  if (cost.impossible > 0) return kForbidden;
  return std::llround(cost.price / unit_) + (options_.breaks_ties ? kCollective * cost.collectives : 0);
}

int Network::Domain(ir::OpId op, const std::vector<int>& strategies) {
  const auto [found, is_new] =
      domain_index_.emplace(std::pair(table_.facts().rule_of[op], strategies), static_cast<int>(domains_.size()));
  if (is_new) domains_.push_back({.op = op, .strategies = strategies});
  return found->second;
}

Cost Network::CostOfInner(const TermKind& kind, const std::vector<int>& numbers) {
  const auto [found, is_new] = inner_costs_.emplace(std::pair(kind.inner_kind, numbers), Cost{});
  if (!is_new) return found->second;
  std::vector<ir::OpId> ops;
  std::map<ir::OpId, int> number_of;
  for (size_t i = 0; i < numbers.size(); ++i) {
    ops.push_back(kind.formulas[static_cast<size_t>(kind.inner[i])].op);
    number_of[ops.back()] = numbers[i];
  }
  const auto strategy_of = [&](ir::OpId op) -> const ir::Strategy& { return table_.strategy(op, number_of.at(op)); };
  found->second = InnerCost(table_.facts(), ops, strategy_of, table_.prices());
  return found->second;
}

std::vector<Network::OwnCost> Network::OwnCosts(const TermKind& kind, const std::vector<int>& numbers) {
  const StrategyFormula& made = kind.formulas[static_cast<size_t>(kind.made)];
  const bool breaks_ties = made.kind == StrategyFormula::Kind::kVariable && options_.breaks_ties;
  std::vector<OwnCost> costs;
  for (int number : numbers) {
    OwnCost own{.price = table_.LocalPrice(kind.value, number)};
    if (breaks_ties) {
      const int idle = IdleAxes(table_.strategy(made.op, number), table_.mesh());
      own.units = kIdleAxis * (table_.paid().may_leave_idle ? table_.mesh().axis_count() - idle : idle);
    }
    costs.push_back(own);
  }
  return costs;
}

int Network::TableOf(const TermKind& kind, const Domains& own) {
  std::vector<int> key = own;
  key.push_back(kind.id);
  const auto [found, is_new] = table_index_.emplace(std::move(key), static_cast<int>(tables_.size()));
  if (!is_new) return found->second;
  const int index = found->second;
  std::vector<const std::vector<int>*> strategies;
  for (int number : own) strategies.push_back(&domain(number));
  const Columns columns(table_, kind, strategies);
  CostTable costs{.sizes = columns.sizes(), .costs = {}};
  std::vector<int> all;
  for (int i = 0; i < kind.variables; ++i) all.push_back(i);
  size_t choices = 1;
  for (int size : columns.sizes()) choices *= static_cast<size_t>(size);
  costs.costs.reserve(choices);
  const double weight = table_.facts().gradient[kind.value] ? gradient_weight_ : 1;
  std::optional<Moves> moves;
  if (kind.moves) moves.emplace(table_, kind, columns, weight, choices);
  const std::vector<OwnCost> own_costs =
      kind.local ? OwnCosts(kind, columns.numbers(kind.made)) : std::vector<OwnCost>();
  std::vector<int> group;
  Odometer odometer(all, columns.sizes());
  do {
    const std::vector<int>& digits = odometer.digits();
    Cost cost;
    if (kind.inner_kind >= 0) {
      group.clear();
      for (int member : kind.inner) group.push_back(columns.Number(member, digits));
      cost = CostOfInner(kind, group);
    }
    if (moves.has_value()) cost = cost + moves->CostOf(digits);
    int64_t units = 0;
    if (kind.local) {
      const OwnCost& local = own_costs[columns.Place(kind.made, digits)];
      cost.price += local.price;
      units = local.units;
    }
    costs.costs.push_back(std::min(Units(cost) + units, kForbidden));
  } while (odometer.Next());
  tables_.push_back(std::move(costs));
  return index;
}

MinSum Network::Problem(const Domains& domains) {
  is_exact_ = true;
  MinSum problem;
  for (int number : domains) problem.domains.push_back(static_cast<int>(domain(number).size()));
  absl::flat_hash_map<std::pair<int, int>, int> index;  // (own table, times it occurs) -> the problem's table.
  Domains own;
  const auto entries = [&](const Term& term) {
    int64_t count = 1;
    for (int variable : term.scope) {
      count = std::min(count * problem.domains[static_cast<size_t>(variable)], int64_t{1} << 40);
    }
    return count;
  };
  const auto add = [&](const Term& term, int count) {
    own.clear();
    for (int variable : term.scope) own.push_back(domains[static_cast<size_t>(variable)]);
    const int table = TableOf(terms_.kinds[static_cast<size_t>(term.kind)], own);
    const auto [found, is_new] = index.emplace(std::pair(table, count), static_cast<int>(problem.tables.size()));
    if (is_new) problem.tables.push_back(Multiple(tables_[static_cast<size_t>(table)], count));
    problem.terms.push_back({.scope = term.scope, .table = found->second});
  };
  for (const Term& term : terms_.terms) {
    if (entries(term) <= entries_) {
      add(term, term.count);
      continue;
    }
    is_exact_ = false;
    for (int part : term.parts) {
      const Term& smaller = terms_.parts[static_cast<size_t>(part)];
      const bool counts = options_.large_terms == LargeTerms::kSplit || smaller.never_more;
      if (counts && entries(smaller) <= entries_) add(smaller, term.count);
    }
  }
  return problem;
}

int64_t Network::Entries(const Domains& domains, int64_t most) const {
  absl::flat_hash_set<std::vector<int>> seen;
  int64_t entries = 0;
  for (const Term& term : terms_.terms) {
    std::vector<int> key;
    int64_t own = 1;
    for (int variable : term.scope) {
      const int number = domains[static_cast<size_t>(variable)];
      key.push_back(number);
      own = std::min(own * static_cast<int64_t>(domain(number).size()), most);
    }
    key.push_back(term.kind);
    if (own > entries_) continue;
    if (seen.insert(std::move(key)).second) entries = std::min(entries + own, most);
  }
  return entries;
}

std::vector<IndexedChange> Network::Changes(const Domains& domains, const std::vector<int>& values) const {
  std::vector<IndexedChange> changes;
  for (const ir::Op& op : table_.facts().graph->ops) {
    const int variable = terms_.variable_of[op.id];
    if (variable < 0) continue;
    const auto v = static_cast<size_t>(variable);
    changes.push_back({.op = op.id, .strategy = domain(domains[v])[static_cast<size_t>(values[v])]});
  }
  return changes;
}

}  // namespace cleave::search
