// Plans of a graph without a search.
#ifndef CLEAVE_IR_TESTING_PLANS_H_
#define CLEAVE_IR_TESTING_PLANS_H_

#include "ir/graph/graph.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

// The plan in which every axis cuts the batch, and everything else is whole.
Plan DataParallelPlan(const Graph& graph, const Mesh& mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_PLANS_H_
