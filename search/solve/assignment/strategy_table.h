// Interns strategies and layouts of a graph's ops as small numbers, and memoizes how one follows from another.
//
//   const int cut = table.Intern(product, strategy);
//   const int backward = table.Inherited(gradient, cut);      // of an op that inherits from `product`
//   table.prices().Price(table.type(product), table.output(product, cut), table.input(reader, own, 0));
//
// Ops with equal rules share numbers, so that a result for one layer holds for all. Not thread-safe.
#ifndef CLEAVE_SEARCH_SOLVE_ASSIGNMENT_STRATEGY_TABLE_H_
#define CLEAVE_SEARCH_SOLVE_ASSIGNMENT_STRATEGY_TABLE_H_

#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/cuts.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/prices.h"
#include "search/price/cost/redistribution_prices.h"
#include "search/solve/assignment/answers.h"

namespace cleave::search {

class StrategyTable {
 public:
  // `facts` outlives the table. With a relaxation, layouts and prices are those of the relaxation.
  StrategyTable(const GraphFacts& facts, const ir::Mesh& mesh, LayoutRelaxation relaxation = {}, Prices paid = {},
                const SearchTuning& tuning = {});

  // The number of `strategy` among those of ops with `op`'s rule. Number 0 is the replicated one.
  int Intern(ir::OpId op, const ir::Strategy& strategy);
  // The same, if it has one.
  std::optional<int> Known(ir::OpId op, const ir::Strategy& strategy) const;
  const ir::Strategy& strategy(ir::OpId op, int index) const { return entry(op, index).strategy; }
  LayoutIndex output(ir::OpId op, int index) const { return entry(op, index).output; }
  LayoutIndex input(ir::OpId op, int index, int slot) const {
    return entry(op, index).inputs[static_cast<size_t>(slot)];
  }

  // For an op that inherits: its strategy when the forward op has number `forward`.
  int Inherited(ir::OpId heir, int forward);
  // The strategy that gives the op's value `layout`, as far as the rule can express it.
  int LyingLike(ir::OpId op, LayoutIndex layout);
  // The strategy under which all inputs and the value have `layout`, partial sums too; -1 where there is none.
  int PassingThrough(ir::OpId op, LayoutIndex layout);
  // Strategy number `index` with `axis` moved to the factor that cuts the op's input `slot` (-1: its value) as `layout`
  // does. If the rule has no such factor, the axis is only removed.
  int CutLike(ir::OpId op, int index, int slot, LayoutIndex layout, ir::AxisId axis);
  // The strategy of a sum (or concatenation) of gradients that are seen in the layouts `inputs`. If these are equal and
  // no summand is the gradient of another value, the sum has their layout; else that of the value whose gradient it is.
  int Sum(ir::OpId sum, absl::Span<const LayoutIndex> inputs, std::optional<LayoutIndex> value);
  // The strategy of data with the cuts that the layouts of all readers share. Each reader slices it for free.
  int Data(ir::OpId op, absl::Span<const LayoutIndex> wanted);
  // The strategy of data that is made from data in layout `input` (its first input).
  int DataFrom(ir::OpId op, LayoutIndex input);
  // The strategy of data that the user wants divided by samples.
  int BatchCut(ir::OpId input);

  // The price of `op` under strategy number `index` without redistributions (Prices::local).
  double LocalPrice(ir::OpId op, int index);
  // Equal for ops of one rule with equal LocalPrice; 0 where the price is 0.
  int local_kind(ir::OpId op) const { return local_kinds_[op]; }
  // What the search pays.
  const Prices& paid() const { return paid_; }

  RedistributionPrices& prices() { return prices_; }
  const RedistributionPrices& prices() const { return prices_; }
  const ir::Layout& layout(LayoutIndex index) const { return prices_.layout(index); }
  TypeIndex type(ir::OpId op) const { return types_[op]; }
  const GraphFacts& facts() const { return facts_; }
  const ir::Mesh& mesh() const { return prices_.mesh(); }
  // For an op that inherits: equal for ops to which Inherited gives the same answers.
  int inheritance_kind(ir::OpId heir) const { return inheritance_kinds_[heir]; }

 private:
  struct Entry {
    ir::Strategy strategy;
    std::vector<LayoutIndex> inputs;
    LayoutIndex output = 0;
  };

  const Entry& entry(ir::OpId op, int index) const {
    return entries_[static_cast<size_t>(facts_.rule_of[op])][static_cast<size_t>(index)];
  }

  const GraphFacts& facts_;
  Prices paid_;
  RedistributionPrices prices_;
  IdVector<ir::OpId, int> local_kinds_;
  IdVector<ir::OpId, int> local_rows_;  // A number for rule and kind; -1 where the price is 0.
  Answers<double> local_prices_;        // (local row, strategy)
  IdVector<ir::OpId, TypeIndex> types_;
  IdVector<ir::OpId, int> inheritance_kinds_;                               // -1 for ops that do not inherit.
  std::vector<std::deque<Entry>> entries_;                                  // Per rule. References stay valid.
  std::vector<absl::flat_hash_map<std::vector<int>, int>> entry_index_;     // Per rule, by the strategy as numbers.
  Answers<int> inherited_;                                                  // (inheritance kind, forward strategy).
  Answers<int> passing_;                                                    // (rule, layout of all inputs).
  Answers<int> lying_like_;                                                 // (rule, layout of its value).
  absl::flat_hash_map<std::tuple<int, int, int, int, int>, int> cut_like_;  // (rule, strategy, slot, layout, axis).
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_ASSIGNMENT_STRATEGY_TABLE_H_
