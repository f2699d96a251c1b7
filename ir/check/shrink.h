// A small copy of a graph and its program that is split in the same way: the input of the simulated proof.
//
// The steps stay as they are, only sizes change. Factors that rules tie together are one unknown. Its new size is the
// smallest from 2 that keeps, for every number N of pieces into which some op cuts it, whether N divides it and whether
// it is smaller than, equal to or larger than N; so what is uneven stays uneven, and what leaves ranks empty still
// does. Compound dimensions follow from their factors. Sizes that an op's meaning hangs on stay. Where ties contradict
// each other the sizes involved stay as they are.
//
// A mesh of more than kSimulatedRanks ranks is shortened: of the axes that all steps treat alike two stay, the others
// get size 1.
#ifndef CLEAVE_IR_CHECK_SHRINK_H_
#define CLEAVE_IR_CHECK_SHRINK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"

namespace cleave {

inline constexpr int kSimulatedRanks = 16;

struct Shrunk {
  Graph graph;
  Program program;
  std::vector<std::string> axes_left_out;  // Treated unlike any axis that stayed.
};

absl::StatusOr<Shrunk> Shrink(const Graph& graph, const Program& program);

}  // namespace cleave

#endif  // CLEAVE_IR_CHECK_SHRINK_H_
