#include "search/solve/network/columns.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace cleave::search {

Columns::Columns(StrategyTable& table, const TermKind& kind, const std::vector<const std::vector<int>*>& domains,
                 size_t formulas)
    : table_(table), kind_(kind), domains_(domains) {
  for (const std::vector<int>* domain : domains) sizes_.push_back(static_cast<int>(domain->size()));
  for (size_t i = 0; i < formulas; ++i) columns_.push_back(ColumnOf(kind.formulas[i]));
}

LayoutColumn Columns::LayoutsOf(int formula, int slot) const {
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

LayoutColumn Columns::Always(int formula, LayoutIndex layout) const {
  return {.formula = formula, .numbers = std::vector<size_t>(numbers(formula).size(), 0), .layouts = {layout}};
}

LayoutIndex Columns::Seen(int formula, const std::vector<int>& digits) const {
  const StrategyFormula& own = kind_.formulas[static_cast<size_t>(formula)];
  return own.seen >= 0 ? own.seen : table_.output(own.op, Number(formula, digits));
}

LayoutIndex Columns::Wanted(int formula, int slot, const std::vector<int>& digits) const {
  return table_.input(kind_.formulas[static_cast<size_t>(formula)].op, Number(formula, digits), slot);
}

Columns::Column Columns::ColumnOf(const StrategyFormula& formula) {
  Column column;
  if (formula.kind == StrategyFormula::Kind::kVariable) column.variables.push_back(formula.number);
  for (int input : formula.inputs) {
    for (int variable : columns_[static_cast<size_t>(input)].variables) {
      const auto place = std::lower_bound(column.variables.begin(), column.variables.end(), variable);
      if (place == column.variables.end() || *place != variable) column.variables.insert(place, variable);
    }
  }
  size_t size = 1;
  for (size_t i = column.variables.size(); i-- > 0;) {
    const auto variable = static_cast<size_t>(column.variables[i]);
    column.strides.push_back({.variable = variable, .size = size});
    size *= static_cast<size_t>(sizes_[variable]);
  }
  column.numbers.reserve(size);
  Odometer odometer(column.variables, sizes_);
  do {
    column.numbers.push_back(Evaluate(formula, odometer.digits()));
  } while (odometer.Next());
  return column;
}

int Columns::Evaluate(const StrategyFormula& formula, const std::vector<int>& digits) {
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

}  // namespace cleave::search
