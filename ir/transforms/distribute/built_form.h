// The distributed form of one op, before it is put into a graph. Private to ir/transforms/distribute.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_BUILT_FORM_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_BUILT_FORM_H_

#include <vector>

#include "ir/graph/graph.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::ir {

// A graph of its own: first a source for each input of the op, then the ops that were built.
struct BuiltForm {
  Graph graph;
  size_t inputs = 0;
  OpId result;
  IdVector<OpId, Strategy> strategies;
  IdVector<OpId, Layout> layouts;  // Layouts of the values; for the sources, as the op reads them.

  bool is_input(OpId id) const { return static_cast<size_t>(id.value()) < inputs; }
};

// REQUIRES: the op has a distributed form, and `strategy` is valid for its rule.
BuiltForm BuildForm(const Graph& graph, const Op& op, const Strategy& strategy, const Mesh& mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_BUILT_FORM_H_
