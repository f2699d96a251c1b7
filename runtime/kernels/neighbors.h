// Which ranks exchange which elements when a tensor is read in windows, as by a convolution or a shifted slice.
#ifndef CLEAVE_RUNTIME_KERNELS_NEIGHBORS_H_
#define CLEAVE_RUNTIME_KERNELS_NEIGHBORS_H_

#include <cstdint>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/kernels/partners.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// Dimension `dimension` is needed in windows.
struct WindowedDimension {
  int dimension = 0;
  Window window;
};

// For `rank`, which holds its piece of a tensor of shape `shape` cut by `axes` and needs its `windows` of it: what it
// sends to each member of the group of the ranks that differ on `group_axes`, and what it receives. Dimensions without
// a window are needed as they are held.
Exchange FindNeighbors(const Mesh& mesh, int64_t rank, const std::vector<int>& group_axes,
                       const std::vector<int64_t>& shape, const AxisLists& axes,
                       const std::vector<WindowedDimension>& windows);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_KERNELS_NEIGHBORS_H_
