// The form on rows of tables' gradients and of the updates that read them. Private to ir/transforms/distribute.
//
//   table.grad = scatter_add(x.grad, ids)        becomes   places = distinct(ids), table.grad = sum_equal(x.grad, ids,
//   places) table.new = sub(table, mul(table.grad, lr))            the same on gather(table, places), then
//   scatter(table, .., places)
//
// All ranks have all places and the rows of all places. A dimension of rows is cut as in the table, except the first; a
// table whose rows are cut gives those that a rank holds, and their sum is the rows of all.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_ROWS_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_ROWS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/row_updates/row_updates.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {

class RowForms {
 public:
  // Appends an op, which is part of `original`, to the graph that grows. Its name need not be free. Returns its place.
  using Append = std::function<OpId(Op op, const Op& original, const Strategy& strategy)>;

  // Keeps references to all. `values` are the places of the ops of `graph` in `grown`.
  RowForms(const Graph& graph, const Plan& plan, const Graph& grown, const IdVector<OpId, OpId>& values, Append append);

  // Whether the op is a gradient by rows, or is computed of the rows of one.
  bool Has(OpId op) const { return update_of_.count(op) > 0; }

  // Whether `Add` gives the op's value as a whole: a state's new value, or a sum. REQUIRES: Has(op).
  bool IsWhole(OpId op) const { return state_of_.count(op) > 0 || graph_.op(op).kind == OpKind::kReduceSum; }

  // Appends what takes the place of `op`: a state's new value as a whole, and else the rows of the op's value or their
  // sum. REQUIRES: Has(op.id). The ops that it reads have been appended.
  OpId Add(const Op& op);

 private:
  OpId AddRows(const Op& op);
  OpId AddSum(const Op& op);
  OpId AddComputed(const Op& op);
  OpId AddScatter(const Op& op, OpId state, OpId rows);
  // `read` as the rows of a table's update see it.
  OpId RowsOf(const Op& reader, OpId read);
  // The rows of the places of a parameter or state.
  OpId Gathered(const Op& reader, OpId table);
  // A list of what has one or more dimensions `count` first: the same elements.
  OpId AsList(const Op& original, OpId value, size_t dimensions, const Layout& layout, const std::string& name);
  OpId AddOp(const Op& original, OpKind kind, std::vector<OpId> inputs, Attributes attributes, const std::string& name,
             const std::vector<const Layout*>& layouts);
  Layout StoredLayout(OpId table) const;
  // That of the op's value in the plan, with whole rows.
  Layout RowLayout(const Op& op) const;

  const Graph& graph_;
  const Plan& plan_;
  const Graph& grown_;
  const IdVector<OpId, OpId>& values_;
  Append append_;
  std::vector<RowUpdate> updates_;
  std::map<OpId, size_t> update_of_;                // An op's place in updates_.
  std::map<OpId, OpId> state_of_;                   // By new value.
  std::map<OpId, OpId> rows_;                       // Of ops of the graph.
  std::map<OpId, OpId> places_;                     // By gradient.
  std::map<std::pair<OpId, OpId>, OpId> gathered_;  // By gradient and table.
};

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_ROWS_H_
