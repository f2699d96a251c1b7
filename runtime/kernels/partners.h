// Which ranks exchange their pieces when mesh axes change places in a layout.
#ifndef CLEAVE_RUNTIME_KERNELS_PARTNERS_H_
#define CLEAVE_RUNTIME_KERNELS_PARTNERS_H_

#include <cstdint>
#include <vector>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// Members of a group, for Comm::Permute.
struct Partners {
  int destination = -1;
  int origin = -1;
};

// Per dimension of a tensor the mesh axes that cut it, major first.
using AxisLists = std::vector<std::vector<int>>;

// For `rank`, in the group of the ranks that differ on `group_axes`: the member that needs the piece which the rank
// holds under `from`, and the member that holds the piece which the rank needs under `to`. A rank that holds what it
// needs keeps it. REQUIRES: `from` and `to` cut every dimension equally often.
Partners FindPartners(const Mesh& mesh, int64_t rank, const std::vector<int>& group_axes, const AxisLists& from,
                      const AxisLists& to);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_PARTNERS_H_
