// Which gradients of tables a step can apply to the rows which it has looked up, and to no others.
//
//   x = gather(table, ids)                               batch numbers, of a table of many more rows
//   table.grad = scatter_add(x.grad, ids)                zero in all rows but at most `batch`
//   table.new = table - lr * table.grad                  changes no other row
//
// The gradient as a whole need not be made where each op of the update is computed element by element, and where it
// leaves parameter and states as they are when the gradient is 0. Whether it does follows from the functions of its ops
// (Simplified in ir/graph/scalar): sgd and adagrad do, momentum, adam and weight decay do not. As everywhere, values
// are taken to be finite.
//
// A graph says with the attribute `by_rows` of a gradient that it is applied so. Its meaning is the same with it and
// without it; ir/transforms/distribute makes the ops on rows.
#ifndef CLEAVE_IR_GRAPH_ROW_UPDATES_ROW_UPDATES_H_
#define CLEAVE_IR_GRAPH_ROW_UPDATES_ROW_UPDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace cleave::ir {

struct RowUpdate {
  OpId table;     // A parameter.
  OpId gradient;  // An embedding_gradient or scatter_add (dy, indices), or the same with other names.
  OpId dy, indices;
  int64_t places = 0;       // How many rows are looked up, and at most touched.
  std::vector<OpId> ops;    // What is computed of the gradient element by element, in program order.
  std::vector<OpId> sums;   // Sums of all elements of the gradient or of these.
  std::vector<OpId> reads;  // The parameters and states in the shape of the table that these read.

  bool operator==(const RowUpdate&) const = default;
};

// The gradient of a table that is not applied by rows.
struct WholeGradient {
  OpId table;
  OpId gradient;
  std::string why;  // A clause: "`table.momentum` changes where the gradient is zero"

  bool operator==(const WholeGradient&) const = default;
};

struct RowUpdates {
  std::vector<RowUpdate> possible;  // In program order.
  std::vector<WholeGradient> impossible;
};

// Of all gradients of tables in a training graph; none in a manual model. REQUIRES: VerifyGraph finds no error.
RowUpdates FindRowUpdates(const Graph& graph);

// Whether `gradient` has the attribute.
bool IsByRows(const Op& gradient);
// Those that have it. REQUIRES: they are possible.
std::vector<RowUpdate> RowUpdatesOf(const Graph& graph);

// The graph in which these gradients have the attribute, and no others.
Graph WithRowUpdates(Graph graph, const std::vector<OpId>& gradients);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_ROW_UPDATES_ROW_UPDATES_H_
