#include "search/solve/network/value_moves.h"

#include <algorithm>
#include <utility>

namespace cleave::search {

ValueMoves::ValueMoves(StrategyTable& table, const TermKind& kind, const Columns& columns, double weight,
                       size_t choices)
    : prices_(table.prices()), type_(table.type(kind.value)), columns_(columns) {
  tensors_.push_back(columns.LayoutsOf(kind.made, -1));
  const LayoutIndex seen = kind.formulas[static_cast<size_t>(kind.made)].seen;
  if (seen >= 0) {
    tensors_.push_back(columns.Always(kind.made, seen));
    demands_.push_back({.layout = 0, .weight = weight});
  }
  for (const TermRead& read : kind.reads) {
    tensors_.push_back(columns.LayoutsOf(read.formula, read.slot));
    demands_.push_back({.layout = 0, .weight = read.weight});
  }
  numbers_.resize(tensors_.size());
  layouts_.resize(tensors_.size());
  size_t combinations = 1;
  for (const LayoutColumn& tensor : tensors_) {
    combinations = std::min(combinations * tensor.layouts.size(), choices + 1);
  }
  if (combinations <= choices) known_.resize(combinations);
  for (size_t target = 1; target < tensors_.size(); ++target) {
    for (size_t source = 0; source < target; ++source) AddPair(source, target, choices);
  }
}

Cost ValueMoves::CostOf(const std::vector<int>& digits) {
  size_t combination = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const LayoutColumn& tensor = tensors_[i];
    numbers_[i] = tensor.numbers[columns_.Place(tensor.formula, digits)];
    combination = combination * tensor.layouts.size() + numbers_[i];
  }
  if (known_.empty()) return Serve();
  std::optional<Cost>& known = known_[combination];
  if (!known.has_value()) known = Serve();
  return *known;
}

// If both depend on many variables, there may be more pairs of layouts than choices.
void ValueMoves::AddPair(size_t source, size_t target, size_t choices) {
  const LayoutColumn &from = tensors_[source], &to = tensors_[target];
  const bool is_small = from.layouts.size() <= choices / to.layouts.size();
  pairs_.push_back(is_small ? std::optional<PairPrices>(std::in_place, prices_, type_, from, to) : std::nullopt);
}

const std::optional<Cost>& ValueMoves::Price(size_t source, size_t target) {
  std::optional<PairPrices>& pair = pairs_[target * (target - 1) / 2 + source];
  if (pair.has_value()) return pair->Price(numbers_[source], numbers_[target]);
  return prices_.price(prices_.NumberOf(type_, layouts_[source], layouts_[target]));
}

Cost ValueMoves::Serve() {
  for (size_t i = 0; i < tensors_.size(); ++i) layouts_[i] = tensors_[i].layouts[numbers_[i]];
  return ServeInOrder(
      demands_, [&](size_t a, size_t b) { return layouts_[a] == layouts_[b]; },
      [&](size_t source, size_t target) -> const std::optional<Cost>& { return Price(source, target); }, made_);
}

}  // namespace cleave::search
