// Meshes for tests, by the sizes of their axes.
#ifndef CLEAVE_IR_TESTING_MESHES_H_
#define CLEAVE_IR_TESTING_MESHES_H_

#include <cstdint>
#include <vector>

#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

// Axes m0, m1, … of these sizes, in this order. `weights` has one for each axis; empty: all weigh 1.
Mesh MeshOf(const std::vector<int64_t>& sizes, const std::vector<double>& weights = {});

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_MESHES_H_
