// Evaluates the strategy formulas of a term (terms.h) for all choices of its variables, each once.
#ifndef CLEAVE_SEARCH_SOLVE_NETWORK_COLUMNS_H_
#define CLEAVE_SEARCH_SOLVE_NETWORK_COLUMNS_H_

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "search/solve/assignment/strategy_table.h"
#include "search/solve/network/terms.h"

namespace cleave::search {

// Iterates over all choices of some variables, the last one fastest.
class Odometer {
 public:
  Odometer(std::vector<int> variables, const std::vector<int>& sizes)
      : variables_(std::move(variables)), sizes_(sizes), digits_(sizes.size(), 0) {}
  // Of all variables.
  explicit Odometer(const std::vector<int>& sizes) : Odometer(std::vector<int>(sizes.size()), sizes) {
    std::iota(variables_.begin(), variables_.end(), 0);
  }

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

// The layouts of one tensor of a term over the choices of its variables.
struct LayoutColumn {
  int formula = 0;                   // `numbers` is indexed by its Place().
  std::vector<size_t> numbers;       // Indexes into `layouts`.
  std::vector<LayoutIndex> layouts;  // Each once, by first occurrence.
};

class Columns {
 public:
  // Evaluates the first `formulas` formulas of `kind`, each of which only needs earlier ones. `domains`: per variable
  // of the term the strategies that it may take.
  Columns(StrategyTable& table, const TermKind& kind, const std::vector<const std::vector<int>*>& domains,
          size_t formulas);

  const std::vector<int>& sizes() const { return sizes_; }
  // The strategy numbers of a formula over the choices of its own variables, and the index of a choice among them.
  const std::vector<int>& numbers(int formula) const { return columns_[static_cast<size_t>(formula)].numbers; }
  size_t Place(int formula, const std::vector<int>& digits) const {
    size_t place = 0;
    for (const Stride& own : columns_[static_cast<size_t>(formula)].strides) {
      place += static_cast<size_t>(digits[own.variable]) * own.size;
    }
    return place;
  }
  int Number(int formula, const std::vector<int>& digits) const { return numbers(formula)[Place(formula, digits)]; }
  // The layouts in which the formula's op reads its input `slot`; for slot -1, makes its value.
  LayoutColumn LayoutsOf(int formula, int slot) const;
  // The same layout for all choices of a formula.
  LayoutColumn Always(int formula, LayoutIndex layout) const;

 private:
  // The distance between the numbers of two neighbouring values of a variable.
  struct Stride {
    size_t variable = 0;
    size_t size = 1;
  };
  // Numbers over the choices of some of the term's variables.
  struct Column {
    std::vector<int> variables;   // Local, ascending.
    std::vector<int> numbers;     // Row-major over their domains.
    std::vector<Stride> strides;  // Of these variables.
  };

  Column ColumnOf(const StrategyFormula& formula);
  int Evaluate(const StrategyFormula& formula, const std::vector<int>& digits);
  LayoutIndex Seen(int formula, const std::vector<int>& digits) const;
  LayoutIndex Wanted(int formula, int slot, const std::vector<int>& digits) const;

  StrategyTable& table_;
  const TermKind& kind_;
  const std::vector<const std::vector<int>*>& domains_;
  std::vector<int> sizes_;
  std::vector<Column> columns_;
  std::vector<LayoutIndex> layouts_;  // Scratch space.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_NETWORK_COLUMNS_H_
