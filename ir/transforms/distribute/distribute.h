// The graph and plan in which every op has a form that its strategy can cut.
//
//   softmax of [b, k] with k cut by m0   becomes   reduce_max, sub, exp, reduce_sum, div, each cut by m0
//
// An op whose strategy cuts an inner factor is replaced by its distributed form (OpDefinition::distribute): ops with
// plain factors, in which statistics of the cut dimension are partial results. Partition then sees only plain factors.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_DISTRIBUTE_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_DISTRIBUTE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

struct Distributed {
  Graph graph;
  Plan plan;                       // Of `graph`.
  IdVector<OpId, OpId> originals;  // For each op of `graph`: the op of the original graph that it is or is part of.
  IdVector<OpId, OpId> values;     // For each op of the original graph: the op of `graph` that makes its value.
  // For each op of the original graph: whether that value has only the rows of a table which a step looks up.
  IdVector<OpId, uint8_t> by_rows;
  // For each op of the original graph: whether that value exists in slices only, one after another: logits of a loss
  // that is computed in parts, units of micro-batches and what is divided by them.
  IdVector<OpId, uint8_t> in_slices;
};

// Whether `strategy` cuts an inner factor into more than one piece.
bool CutsInnerFactor(const Strategy& strategy, const Rule& rule, const Mesh& mesh);

// Ops that need no other form stay as they are, renumbered. Where no op needs one, graph and plan are those given. The
// op that makes the value of a replaced op keeps its name, the others are called "<name>.max", …; all have its phase
// and line. Their strategies follow from that of the replaced op: a dimension is cut as in the value that it comes
// from.
//
// A table's gradient that is applied by rows (ir/graph/row_updates) and what is computed of it are rows, too.
//
// A product that the plan has in chunks (OpPlan::chunks) is computed so where that can be done (chunks.h).
//
// A loss with the attribute `parts` (ir/graph/sliced_losses) is computed in slices where that can be done.
//
// Statistics that an op and its gradients have in common (the moments of layer_norm) are computed once.
//
// With micro-batches, tensors of 8 bits have a unit for each of them in place of one of the whole batch.
//
// Where the graph asks for sums in f32 (Graph::sums), values of 16 bits that are made in partial sums are f32 until
// they are complete; their casts are ops of the new graph.
//
// REQUIRES: VerifyGraph and VerifyPlan find no error. An Internal error where a distributed form does not make its
// value in the layout of the op that it replaces.
absl::StatusOr<Distributed> Distribute(const Graph& graph, const Plan& plan);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_DISTRIBUTE_H_
