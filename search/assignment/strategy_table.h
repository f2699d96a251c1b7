// Strategies and layouts of a graph's ops as small numbers, and how one follows from another: pure functions of
// numbers, each computed once.
//
//   const int cut = table.Intern(product, strategy);
//   const int backward = table.Inherited(gradient, cut);      // of an op that inherits from `product`
//   table.prices().Price(table.type(product), table.output(product, cut), table.input(reader, own, 0));
//
// Ops with equal rules share their numbers, so that what was found out for one layer holds for all. Not thread-safe.
#ifndef CLEAVE_SEARCH_ASSIGNMENT_STRATEGY_TABLE_H_
#define CLEAVE_SEARCH_ASSIGNMENT_STRATEGY_TABLE_H_

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
#include "search/cost/facts.h"
#include "search/cost/prices.h"
#include "search/cost/redistribution_prices.h"

namespace cleave::search {

class StrategyTable {
 public:
  // `facts` outlives the table. With a relaxation, layouts and prices are those of the relaxation.
  StrategyTable(const GraphFacts& facts, const ir::Mesh& mesh, LayoutRelaxation relaxation = {}, Prices paid = {},
                const SearchTuning& tuning = {});

  // The number of `strategy` among those of ops with `op`'s rule. Number 0 is the replicated one.
  int Intern(ir::OpId op, const ir::Strategy& strategy);
  const ir::Strategy& strategy(ir::OpId op, int index) const { return entry(op, index).strategy; }
  LayoutIndex output(ir::OpId op, int index) const { return entry(op, index).output; }
  LayoutIndex input(ir::OpId op, int index, int slot) const {
    return entry(op, index).inputs[static_cast<size_t>(slot)];
  }

  // Of an op that inherits: its strategy where the forward op has number `forward`.
  int Inherited(ir::OpId heir, int forward);
  // The strategy under which the op's value lies like `layout`, as far as the rule can say it.
  int LyingLike(ir::OpId op, LayoutIndex layout);
  // The strategy under which all inputs and the value have `layout`, partial sums too; -1 where there is none.
  int PassingThrough(ir::OpId op, LayoutIndex layout);
  // Strategy number `index` with `axis` taken out and put where `layout` has it in a tensor of the op: input `slot`, or
  // the value for slot -1; only taken out where the rule has no such cut.
  int CutLike(ir::OpId op, int index, int slot, LayoutIndex layout, ir::AxisId axis);
  // A sum of gradients whose summands are seen in `inputs`: they are added as they lie where all lie alike and none is
  // the gradient of another value, else where the value lies whose gradient this is.
  int Sum(ir::OpId sum, absl::Span<const LayoutIndex> inputs, std::optional<LayoutIndex> value);
  // Data is made as all its readers want it: what their layouts have in common, from which each takes its slice for
  // free.
  int Data(ir::OpId op, absl::Span<const LayoutIndex> wanted);
  // Data that is made from data that lies in `input` (its first input).
  int DataFrom(ir::OpId op, LayoutIndex input);
  // Data that the user wants divided by samples.
  int BatchCut(ir::OpId input);

  // What `op` costs by itself under strategy number `index`.
  double LocalPrice(ir::OpId op, int index);
  // Of ops of one rule: equal where LocalPrice is; 0 where it is nothing.
  int local_kind(ir::OpId op) const { return local_kinds_[op]; }
  // What plans are paid for in.
  const Prices& paid() const { return paid_; }

  RedistributionPrices& prices() { return prices_; }
  const RedistributionPrices& prices() const { return prices_; }
  const ir::Layout& layout(LayoutIndex index) const { return prices_.layout(index); }
  TypeIndex type(ir::OpId op) const { return types_[op]; }
  const GraphFacts& facts() const { return facts_; }
  const ir::Mesh& mesh() const { return prices_.mesh(); }
  // Of an op that inherits: equal for ops to which Inherited gives the same answers.
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
  absl::flat_hash_map<std::tuple<int, int, int>, double> local_prices_;  // (rule, kind, strategy)
  IdVector<ir::OpId, TypeIndex> types_;
  IdVector<ir::OpId, int> inheritance_kinds_;                               // -1 for ops that do not inherit.
  std::vector<std::deque<Entry>> entries_;                                  // Per rule. References stay valid.
  std::vector<absl::flat_hash_map<std::vector<int>, int>> entry_index_;     // Per rule, by the strategy as numbers.
  absl::flat_hash_map<std::pair<int, int>, int> inherited_;                 // (inheritance kind, forward strategy).
  absl::flat_hash_map<std::pair<int, int>, int> passing_;                   // (rule, layout of all inputs).
  absl::flat_hash_map<std::pair<int, int>, int> lying_like_;                // (rule, layout of its value).
  absl::flat_hash_map<std::tuple<int, int, int, int, int>, int> cut_like_;  // (rule, strategy, slot, layout, axis).
};

// All axes cut the first dimension, as many as it has elements for.
ir::Layout CutByBatch(const ir::Shape& shape, const ir::Mesh& mesh);

// `strategy` without `axis`.
ir::Strategy Without(const ir::Strategy& strategy, ir::AxisId axis);

// The dimension of `layout` that `axis` cuts; -1 for none.
int DimensionCutBy(const ir::Layout& layout, ir::AxisId axis);

// `strategy`, which does not use `axis`, with `factor` cut by it; nullopt where that is not valid. The axis takes the
// place among the factor's axes that it has in `order`, innermost where it is not in it.
std::optional<ir::Strategy> WithFactorCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                          int factor, ir::AxisId axis, const std::vector<ir::AxisId>& order);

// The same for a dimension of a tensor of the rule: the first of its factors that has elements left.
std::optional<ir::Strategy> WithDimensionCut(const ir::Strategy& strategy, const ir::Rule& rule, const ir::Mesh& mesh,
                                             const std::vector<ir::FactorList>& dimensions, size_t dimension,
                                             ir::AxisId axis, const std::vector<ir::AxisId>& order);

// The strategy whose dimensions (of an input or of the output, as `dimensions` of the rule says) lie like `layout` as
// far as the rule can say it: axes that do not fit are left out, partial sums too.
ir::Strategy StrategyFromDimensions(const ir::Layout& layout, const std::vector<ir::FactorList>& dimensions,
                                    const ir::Rule& rule, const ir::Mesh& mesh);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_ASSIGNMENT_STRATEGY_TABLE_H_
