// Random valid plans: meshes of every kind, any strategy an op's rule allows.
#ifndef CLEAVE_IR_TESTING_RANDOM_PLAN_H_
#define CLEAVE_IR_TESTING_RANDOM_PLAN_H_

#include "ir/graph/graph.h"
#include "ir/graph/ops/samples.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

// A mesh of `devices` ranks: axes of prime size in any order, sometimes named, over one link class or two.
Mesh RandomMesh(int64_t devices, Random& random);

// Every op is cut in some valid way: like its forward op, like the values that it reads, or at random; partial sums
// pass through where they can; some values are asked for in another layout.
Plan RandomPlan(const Graph& graph, const Mesh& mesh, Random& random);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_RANDOM_PLAN_H_
