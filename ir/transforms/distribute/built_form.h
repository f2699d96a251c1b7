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

// The strategy of a built op that reads values in `inputs`: each dimension is cut as in these. `passes` is what passes
// through the op of which it is a part. Dimensions of several factors are left whole without `cuts_compounds`.
Strategy StrategyOfBuilt(const Rule& rule, const std::vector<const Layout*>& inputs,
                         const std::vector<PassThrough>& passes, const Mesh& mesh, bool cuts_compounds = false);

// REQUIRES: the op has a distributed form, and `strategy` is valid for its rule.
BuiltForm BuildForm(const Graph& graph, const Op& op, const Strategy& strategy, const Mesh& mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_BUILT_FORM_H_
