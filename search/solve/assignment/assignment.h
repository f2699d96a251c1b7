// The strategies of all ops of a training graph while a search changes them, with the price of the whole.
//
// A search sets forward ops (products and light ops); everything else follows at once: backward ops inherit, parameters
// are stored as their heaviest reader reads them, updates have the layout of their parameter, data is made in the
// layout in which it is read, sums of gradients keep the cuts that their summands share. Only the prices of values that
// a change affects are computed again, and a change can be undone:
//
//   const int mark = assignment.mark();
//   assignment.Apply({{op, strategy}});
//   if (!Cheaper(assignment.cost(), before)) assignment.Rollback(mark);
//
// Not thread-safe.
#ifndef CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ASSIGNMENT_H_
#define CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ASSIGNMENT_H_

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/strategy/strategy.h"
#include "search/model/facts/demands.h"
#include "search/model/facts/facts.h"
#include "search/model/tuning/tuning.h"
#include "search/price/cost/inner_cost.h"
#include "search/price/cost/prices.h"
#include "search/price/cost/redistribution_prices.h"
#include "search/solve/assignment/strategy_table.h"

namespace cleave::search {

struct AssignmentOptions {
  double gradient_weight = 0.1;
  // The layout of data inputs; nullopt: the one in which they are read.
  std::optional<ir::DatasetLayout> dataset;
  Prices prices = {};
  SearchTuning tuning = {};
};

struct Change {
  ir::OpId op;
  ir::Strategy strategy;
};

// The same with the strategy by its number in the assignment.
struct IndexedChange {
  ir::OpId op;
  int strategy = 0;
};

class Assignment {
 public:
  // Everything is replicated except what `demands` fixes. `facts` outlives the assignment.
  Assignment(const GraphFacts& facts, const ir::Mesh& mesh, AssignmentOptions options, const OpDemands& demands);

  // Sets forward products and light ops; ops that a demand fixes are skipped.
  void Apply(const std::vector<Change>& changes);
  void Apply(const std::vector<IndexedChange>& changes);

  // Strategies and layouts as the numbers of table().
  int index(ir::OpId op) const { return chosen_[op]; }
  int Intern(ir::OpId op, const ir::Strategy& strategy) { return table_.Intern(op, strategy); }
  LayoutIndex output_index(ir::OpId op, int strategy) const { return table_.output(op, strategy); }
  LayoutIndex input_index(ir::OpId op, int strategy, int input) const { return table_.input(op, strategy, input); }

  // StrategyTable::CutLike of the op's present strategy.
  int CutLike(ir::OpId op, int slot, LayoutIndex layout, ir::AxisId axis) {
    return table_.CutLike(op, chosen_[op], slot, layout, axis);
  }

  // Between Hold() and Release() changes of ops are not carried over to what follows from them, nor to prices, which
  // saves work where the same ops change often. REQUIRES: in between no cost(), no Rollback(), and no strategies but
  // those of ops that a search sets.
  void Hold() { holds_ = true; }
  void Release();

  int mark() const { return static_cast<int>(journal_.size()); }
  void Rollback(int mark);
  // The values that were priced again since `mark`, and the ops whose strategy was set: each once, in program order.
  std::vector<ir::OpId> PricedSince(int mark) const { return RecordedSince(mark, /*is_cost=*/true); }
  std::vector<ir::OpId> SetSince(int mark) const { return RecordedSince(mark, /*is_cost=*/false); }

  const Cost& cost() const { return cost_; }
  // The price of the redistributions of this op's value, and of those inside the distributed forms of the op and of its
  // inheritors, times the number of ops for which it stands.
  const Cost& value_cost(ir::OpId op) const { return value_costs_[op]; }
  // The price of the op and of the backward ops that inherit from it, without redistributions.
  double LocalPriceOf(ir::OpId op);
  // The same plus the redistributions of all values that these ops read and make.
  Cost CostAround(ir::OpId op);

  bool fixed(ir::OpId op) const { return fixed_[op]; }
  // The ops that a search sets and no demand fixes, in program order.
  std::vector<ir::OpId> OpenOps() const;
  const ir::Strategy& strategy(ir::OpId op) const { return table_.strategy(op, chosen_[op]); }
  const ir::Layout& produced(ir::OpId op) const { return table_.layout(produced_index(op)); }
  // The layout that readers see: the demanded one, or the produced one.
  const ir::Layout& seen(ir::OpId op) const;
  LayoutIndex seen_index(ir::OpId op) const { return outputs_[op] >= 0 ? outputs_[op] : produced_index(op); }
  const ir::Layout& wanted(ir::OpId op, int input) const { return table_.layout(wanted_index(op, input)); }
  std::optional<ir::Layout> demanded_output(ir::OpId op) const;

  const GraphFacts& facts() const { return facts_; }
  const ir::Mesh& mesh() const { return table_.mesh(); }
  const AssignmentOptions& options() const { return options_; }
  const OpDemands& demands() const { return pinned_; }
  StrategyTable& table() { return table_; }

  // For a search that decides op by op: redistributions between two ops count only when both are decided. LocalPriceOf
  // always counts.
  void SetDecided(ir::OpId op, bool decided);
  bool decided(ir::OpId op) const { return decided_[op]; }

 private:
  struct Record {
    ir::OpId op;
    int strategy = 0;  // Before the change.
    Cost cost;         // Of the op's value, before the change.
    Cost total;        // Of the whole plan, before the change.
    bool is_cost = false;
  };

  std::vector<ir::OpId> RecordedSince(int mark, bool is_cost) const;
  LayoutIndex produced_index(ir::OpId op) const { return table_.output(op, chosen_[op]); }
  LayoutIndex wanted_index(ir::OpId op, int input) const { return table_.input(op, chosen_[op], input); }
  void Choose(ir::OpId op, int strategy);
  void Touch(ir::OpId op);
  void Settle();
  // Sets what follows from the op, or between Hold() and Release() postpones it.
  void Follow(ir::OpId changed);
  void FollowNow(ir::OpId changed);
  void DeriveStorage(ir::OpId parameter);
  void DeriveData(ir::OpId op);
  void DeriveSum(ir::OpId op);
  bool IsDecided(ir::OpId op) const;
  Cost Resolve(ir::OpId value);
  Cost PriceValue(ir::OpId value);
  Cost PriceMoves(ir::OpId value);
  Cost PriceInside(ir::OpId root);

  const GraphFacts& facts_;
  AssignmentOptions options_;
  OpDemands pinned_;
  StrategyTable table_;
  IdVector<ir::OpId, int> chosen_;
  IdVector<ir::OpId, uint8_t> fixed_;
  IdVector<ir::OpId, uint8_t> decided_;
  IdVector<ir::OpId, LayoutIndex> outputs_;  // Demanded; -1 where none.
  IdVector<ir::OpId, Cost> value_costs_;
  Cost cost_;
  std::vector<Record> journal_;
  std::vector<LayoutDemand> demands_;  // Of the value being priced.
  std::vector<ir::OpId> dirty_;
  IdVector<ir::OpId, uint8_t> quiet_;                                        // Moving the value never costs.
  absl::flat_hash_map<std::pair<int, std::vector<int>>, Cost> inner_costs_;  // (inner kind, strategies of the group).
  IdVector<ir::OpId, uint8_t> is_dirty_;
  bool holds_ = false;
  std::vector<ir::OpId> held_;  // Changed since Hold().
  IdVector<ir::OpId, uint8_t> is_held_;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_SOLVE_ASSIGNMENT_ASSIGNMENT_H_
