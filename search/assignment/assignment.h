// The strategies of all ops of a training graph while a search changes them, with the price of the whole.
//
// A search sets forward ops (products and light ops); everything else follows at once: backward ops inherit, parameters
// are stored as their heaviest reader reads them, updates lie like their parameter, data is made as it is read, sums of
// gradients keep what their summands share. Only the prices of values that a change touches are computed again, and a
// change can be taken back:
//
//   const int mark = assignment.mark();
//   assignment.Apply({{op, strategy}});
//   if (!Cheaper(assignment.cost(), before)) assignment.Rollback(mark);
//
// Not thread-safe.
#ifndef CLEAVE_SEARCH_ASSIGNMENT_ASSIGNMENT_H_
#define CLEAVE_SEARCH_ASSIGNMENT_ASSIGNMENT_H_

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/graph.h"
#include "ir/pins/pins.h"
#include "ir/strategy/strategy.h"
#include "search/cost/facts.h"
#include "search/cost/inner_cost.h"
#include "search/cost/redistribution_prices.h"

namespace cleave {

// What a pin demands of one op.
struct Demand {
  std::optional<Strategy> strategy;  // Of an op; of a source, its storage.
  std::optional<Layout> output;      // What consumers see.

  bool operator==(const Demand&) const = default;
};

struct AssignmentOptions {
  double gradient_weight = 0.1;
  // The layout in which data inputs lie; nullopt: as they are read.
  std::optional<DatasetLayout> dataset;
};

struct Change {
  OpId op;
  Strategy strategy;
};

// The same with the strategy by its number in the assignment.
struct IndexedChange {
  OpId op;
  int strategy = 0;
};

class Assignment {
 public:
  // Everything replicated but what `demands` fixes. `facts` outlives the assignment.
  Assignment(const GraphFacts& facts, const Mesh& mesh, AssignmentOptions options,
             const std::map<OpId, Demand>& demands);

  // Sets forward products and light ops; ops that a demand fixes are skipped.
  void Apply(const std::vector<Change>& changes);
  void Apply(const std::vector<IndexedChange>& changes);

  // The number of `op`'s strategy, and of another one that it could have.
  int index(OpId op) const { return chosen_[op]; }
  int Intern(OpId op, const Strategy& strategy);
  LayoutIndex output_index(OpId op, int strategy) const { return table_entry(op, strategy).output; }
  LayoutIndex input_index(OpId op, int strategy, int input) const {
    return table_entry(op, strategy).inputs[static_cast<size_t>(input)];
  }

  // The number of op's present strategy with `axis` taken out and put where `layout` has it in a tensor of the op:
  // input `slot`, or the value for slot -1; only taken out where the rule has no such cut.
  int CutLike(OpId op, int slot, LayoutIndex layout, AxisId axis);

  int mark() const { return static_cast<int>(journal_.size()); }
  void Rollback(int mark);

  const Cost& cost() const { return cost_; }
  // How many strategies were set so far, and what it took to price them: a measure of time that is the same on every machine.
  int64_t work() const { return work_ + prices_.work(); }
  // What the redistributions of this op's value cost, and those inside of the distributed forms of the op and its heirs.
  const Cost& value_cost(OpId op) const { return value_costs_[op]; }
  // What an op and the backward ops that inherit from it cause: the redistributions of what they read and make.
  Cost CostAround(OpId op);

  bool fixed(OpId op) const { return fixed_[op]; }
  const Strategy& strategy(OpId op) const { return entry(op).strategy; }
  const Layout& produced(OpId op) const { return prices_.layout(entry(op).output); }
  // What consumers see: a demanded output, or what is produced.
  const Layout& seen(OpId op) const;
  LayoutIndex seen_index(OpId op) const { return outputs_[op] >= 0 ? outputs_[op] : entry(op).output; }
  const Layout& wanted(OpId op, int input) const {
    return prices_.layout(entry(op).inputs[static_cast<size_t>(input)]);
  }
  std::optional<Layout> demanded_output(OpId op) const;

  const GraphFacts& facts() const { return facts_; }
  const Mesh& mesh() const { return prices_.mesh(); }

  // While a search builds up a plan: redistributions between ops of which one is undecided are not counted.
  void SetDecided(OpId op, bool decided);
  bool decided(OpId op) const { return decided_[op]; }

 private:
  struct Entry {
    Strategy strategy;
    std::vector<LayoutIndex> inputs;
    LayoutIndex output = 0;
  };
  struct Record {
    OpId op;
    int strategy = 0;  // Before the change.
    Cost cost;         // Of its value, before the change.
    Cost total;        // Of all, before the change.
    bool is_cost = false;
  };

  const Entry& table_entry(OpId op, int strategy) const {
    return tables_[static_cast<size_t>(facts_.rule_of[op])][static_cast<size_t>(strategy)];
  }
  const Entry& entry(OpId op) const { return table_entry(op, chosen_[op]); }
  int LyingLike(OpId op, LayoutIndex layout);
  int PassingThrough(OpId op, LayoutIndex layout);
  void Choose(OpId op, int strategy);
  void Touch(OpId op);
  void Settle();
  void Follow(OpId changed);
  void DeriveInherited(OpId op);
  void DeriveStorage(OpId parameter);
  void DeriveData(OpId op);
  void DeriveSum(OpId op);
  bool IsDecided(OpId op) const;
  Cost Resolve(OpId value);
  Cost PriceValue(OpId value);
  Cost PriceMoves(OpId value);
  Cost PriceInside(OpId root);

  const GraphFacts& facts_;
  AssignmentOptions options_;
  RedistributionPrices prices_;
  std::vector<std::vector<Entry>> tables_;                               // Per rule.
  std::vector<absl::flat_hash_map<std::vector<int>, int>> table_index_;  // Per rule, by the strategy as numbers.
  absl::flat_hash_map<std::pair<int, int>, int> inherited_;              // (op, forward strategy) -> own strategy.
  absl::flat_hash_map<std::pair<int, int>, int> passing_;     // (rule, layout of all inputs) -> strategy, -1 for none.
  absl::flat_hash_map<std::pair<int, int>, int> lying_like_;  // (rule, layout of its value) -> strategy.
  absl::flat_hash_map<std::tuple<int, int, int, int, int>, int>
      cut_like_;  // (rule, strategy, slot, layout, axis) -> strategy.
  IdVector<OpId, int> chosen_;
  IdVector<OpId, TypeIndex> types_;
  IdVector<OpId, uint8_t> fixed_;
  IdVector<OpId, uint8_t> decided_;
  IdVector<OpId, LayoutIndex> outputs_;  // Demanded; -1 where none.
  IdVector<OpId, Cost> value_costs_;
  Cost cost_;
  std::vector<Record> journal_;
  int64_t work_ = 0;
  std::vector<RedistributionPrices::Demanded> demands_;  // Of the value being priced.
  std::vector<OpId> dirty_;
  IdVector<OpId, uint8_t> quiet_;  // Moving the value never costs.
  IdVector<OpId, std::vector<OpId>> inner_groups_;  // Of the op and its heirs those with inner factors.
  IdVector<OpId, int> inner_kinds_;                 // Groups of one number have the same prices.
  absl::flat_hash_map<std::pair<int, std::vector<int>>, Cost> inner_costs_;  // (kind, strategies of the group).
  IdVector<OpId, uint8_t> is_dirty_;
};

// `strategy` without `axis`.
Strategy Without(const Strategy& strategy, AxisId axis);

// The dimension of `layout` that `axis` cuts; -1 for none.
int DimensionCutBy(const Layout& layout, AxisId axis);

// `strategy`, which does not use `axis`, with `factor` cut by it; nullopt where that is not valid. The axis takes the
// place among the factor's axes that it has in `order`, innermost where it is not in it.
std::optional<Strategy> WithFactorCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh, int factor,
                                      AxisId axis, const std::vector<AxisId>& order);

// The same for a dimension of a tensor of the rule: the first of its factors that has elements left.
std::optional<Strategy> WithDimensionCut(const Strategy& strategy, const Rule& rule, const Mesh& mesh,
                                         const std::vector<FactorList>& dimensions, size_t dimension, AxisId axis,
                                         const std::vector<AxisId>& order);

// The strategy whose dimensions (of an input or of the output, as `dimensions` of the rule says) lie like `layout` as
// far as the rule can say it: axes that do not fit are left out, partial sums too.
Strategy StrategyFromDimensions(const Layout& layout, const std::vector<FactorList>& dimensions, const Rule& rule,
                                const Mesh& mesh);

}  // namespace cleave

#endif  // CLEAVE_SEARCH_ASSIGNMENT_ASSIGNMENT_H_
