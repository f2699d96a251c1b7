// For tests: the elements that the ranks hold after every move of a redistribution.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_SIMULATION_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_SIMULATION_H_

#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// Plans the way and carries it out. Checks that every rank ends with its part of the tensor, each element where it
// belongs and received from a rank of its group, and that the plan costs what its moves cost. Partial axes of `source`
// are partial by `reduction`.
void ExpectCorrectPath(const Mesh& mesh, const TensorType& type, const Layout& source, const Layout& target,
                       Reduction reduction);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_SIMULATION_H_
