// What a simulation takes, known before it runs. Private to ir/proof/check.
#ifndef CLEAVE_IR_PROOF_CHECK_SIMULATION_SIZE_H_
#define CLEAVE_IR_PROOF_CHECK_SIMULATION_SIZE_H_

#include <optional>

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/proof/check/check.h"

namespace cleave::ir {

// The elements of all tensors of the program on its ranks, and of the graph's tensors, of which a comparison may hold
// several copies.
double SimulatedElements(const Graph& graph, const Program& program);

// How many are simulated: 16 million, which is below 200 MB, or 4096 for each value and rank where that is more, as
// programs of many steps on many ranks need with small sizes.
double MostElements(const Program& program);

// The dimension that makes a simulation of this shrunk program too large; nullopt if it is not.
std::optional<LargeDimension> FindTooLarge(const Graph& graph, const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROOF_CHECK_SIMULATION_SIZE_H_
