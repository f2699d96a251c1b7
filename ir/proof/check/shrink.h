// A small copy of a graph and its program that is split in the same way. It is the input of the simulated proof.
//
// The steps stay as they are, only sizes change. Factors that rules tie together are one unknown. Its new size is the
// smallest from 2 that keeps, for every number N of pieces into which some op cuts it, whether N divides it and whether
// it is smaller than, equal to or larger than N. So what is uneven stays uneven, and what leaves ranks empty still
// does. Compound dimensions follow from their factors. Dimensions that are cut at places or seen through a kernel
// shrink together with the places and the kernel (size_classes.h), and the windows of values with them. Sizes on which
// the meaning of an op depends stay. Where ties contradict each other, the sizes involved stay as they are.
#ifndef CLEAVE_IR_PROOF_CHECK_SHRINK_H_
#define CLEAVE_IR_PROOF_CHECK_SHRINK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/rule/rule.h"

namespace cleave::ir {

// Gives every op the rule of `rules` by type and attributes. Returns what does not fit together.
std::vector<std::string> ResizeGraph(const std::vector<Rule>& rules, Graph& graph);

struct Shrunk {
  Graph graph;
  Program program;
};

// `short_mesh` is the program's mesh with shorter axes (short_meshes.h).
absl::StatusOr<Shrunk> Shrink(const Graph& graph, const Program& program, const Mesh& short_mesh);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SHRINK_H_
