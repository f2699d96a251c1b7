// How the communicating ops of a manual model become collectives. For ir/program/partition and ir/proof/check.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_MANUAL_H_
#define CLEAVE_IR_PROGRAM_PARTITION_MANUAL_H_

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

// The ranks' local tensors are seen as their parts of tensors that they hold together. x is a part of `sent` in layout
// `before`. From it `collective` makes `received` in layout `after`, and each rank's part of that is the op's value.
//
//   all_gather(x: f32[8, 4]; axis = 0, group = "tp", size = 2):  f32[16, 4] [tp, -]  ->  [-, -]
//   reduce_scatter(x: f32[16, 4]; axis = 0, …):                   f32[16, 4] [-, -] partial(tp: sum)  ->  [tp, -]
struct ManualMove {
  TensorType sent;
  Layout before;
  Collective collective;  // Its only transfer has no values yet.
  TensorType received;
  Layout after;
};

// REQUIRES: the op's RankUse is kOthers.
ManualMove ManualMoveOf(const Graph& graph, const Op& op, const Mesh& mesh);

// Whether the op's group has one member, so that its value is its input.
bool IsAlone(const Op& op);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_MANUAL_H_
