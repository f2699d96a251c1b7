// The ranks of a manual model on a mesh.
#ifndef CLEAVE_IR_SHARDING_MESH_RANK_AXES_H_
#define CLEAVE_IR_SHARDING_MESH_RANK_AXES_H_

#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/manual/manual.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

// The axes of `mesh` that make up a group, outermost first. A mesh is the rank axes cut finer: ranks have the same
// numbers in both. REQUIRES: every rank axis is a product of neighbouring mesh axes.
AxisList MeshAxesOf(const std::vector<RankAxis>& axes, RankAxisSet group, const Mesh& mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_MESH_RANK_AXES_H_
