// Prices the redistributions of a term's value, for all choices of its variables.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_VALUE_MOVES_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_VALUE_MOVES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "search/price/cost/redistribution_prices.h"
#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/columns.h"
#include "search/solve/network/terms.h"

namespace cleave::search {

// Prices of redistributions between two tensors of a term, each looked up once.
class PairPrices {
 public:
  PairPrices(RedistributionPrices& prices, TypeIndex type, const LayoutColumn& from, const LayoutColumn& to)
      : prices_(prices), type_(type), from_(from.layouts), to_(to.layouts), numbers_(from_.size() * to_.size(), -1) {}

  // By indexes into the columns' layouts; nullopt where there is no redistribution.
  const std::optional<Cost>& Price(size_t source, size_t target) {
    RedistributionPrices::PriceNumber& number = numbers_[source * to_.size() + target];
    if (number < 0) number = prices_.NumberOf(type_, from_[source], to_[target]);
    return prices_.price(number);
  }

 private:
  RedistributionPrices& prices_;
  TypeIndex type_;
  std::vector<LayoutIndex> from_, to_;
  std::vector<RedistributionPrices::PriceNumber> numbers_;  // -1 where not yet looked up.
};

// Many choices of strategies give the same layouts, whose cost is computed once.
class ValueMoves {
 public:
  // `columns` are of all formulas of `kind` and outlive the object. `choices`: the number of choices of the term.
  ValueMoves(StrategyTable& table, const TermKind& kind, const Columns& columns, double weight, size_t choices);

  // The cost for the choice `digits` of the term's variables.
  Cost CostOf(const std::vector<int>& digits);

 private:
  void AddPair(size_t source, size_t target, size_t choices);
  const std::optional<Cost>& Price(size_t source, size_t target);
  Cost Serve();

  RedistributionPrices& prices_;
  const TypeIndex type_;
  const Columns& columns_;
  std::vector<LayoutColumn> tensors_;             // The value as produced, then as each reader wants it.
  std::vector<LayoutDemand> demands_;             // Their weights; layouts are those of `tensors_`.
  std::vector<size_t> numbers_;                   // Per tensor the index of its layout under a choice.
  std::vector<LayoutIndex> layouts_;              // These layouts, of the choice being served.
  std::vector<std::optional<PairPrices>> pairs_;  // From tensor s to t > s at t (t - 1) / 2 + s.
  std::vector<std::optional<Cost>> known_;        // By these indexes; empty where longer than `choices`.
  std::vector<size_t> made_;                      // For the value being served; kept to avoid allocations.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_VALUE_MOVES_H_
