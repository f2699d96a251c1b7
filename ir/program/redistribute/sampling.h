// Layouts to try: all of them, or random ones.
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_SAMPLING_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_SAMPLING_H_

#include <cstddef>
#include <random>
#include <vector>

#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// Every layout of a tensor of `rank` dimensions over all axes of the mesh; partial ones by each of `reductions`.
std::vector<Layout> AllLayouts(const Mesh& mesh, int rank, const std::vector<Reduction>& reductions);

// Each axis cuts one of the dimensions, is partial (a sum) where that may be, or replicated.
Layout RandomLayout(const Mesh& mesh, size_t rank, bool may_be_partial, std::mt19937& random);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_SAMPLING_H_
