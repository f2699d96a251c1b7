#include "runtime/kernels/neighbors.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

// The elements of each dimension that a rank holds or, with `windows`, needs.
std::vector<Range> PartOf(const Mesh& mesh, int64_t rank, const std::vector<int64_t>& shape, const AxisLists& axes,
                          const std::vector<WindowedDimension>& windows) {
  std::vector<Range> part;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t pieces = 1;
    for (const int axis : axes[d]) pieces *= mesh[static_cast<size_t>(axis)].size;
    const int64_t index = IndexOnAxes(mesh, rank, axes[d]);
    const auto windowed = std::find_if(windows.begin(), windows.end(), [d](const WindowedDimension& entry) {
      return static_cast<size_t>(entry.dimension) == d;
    });
    if (windowed == windows.end()) {
      part.push_back(Piece(shape[d], pieces, index));
    } else {
      part.push_back(windowed->window.Of(Piece(windowed->window.outer, pieces, index)));
    }
  }
  return part;
}

std::vector<int64_t> SizesOf(const std::vector<Range>& part) {
  std::vector<int64_t> sizes;
  for (const Range& range : part) sizes.push_back(range.size);
  return sizes;
}

// What `a` and `b` have in common, as a region of `a`.
Region Common(const std::vector<Range>& a, const std::vector<Range>& b) {
  Region region;
  for (size_t d = 0; d < a.size(); ++d) {
    const int64_t begin = std::max(a[d].begin, b[d].begin);
    const int64_t end = std::min(a[d].begin + a[d].size, b[d].begin + b[d].size);
    region.shape.push_back(a[d].size);
    region.begin.push_back(begin < end ? begin - a[d].begin : 0);
    region.size.push_back(std::max<int64_t>(end - begin, 0));
  }
  return region;
}

}  // namespace

Exchange FindNeighbors(const Mesh& mesh, int64_t rank, const std::vector<int>& group_axes,
                       const std::vector<int64_t>& shape, const AxisLists& axes,
                       const std::vector<WindowedDimension>& windows) {
  int64_t members = 1;
  for (const int axis : group_axes) members *= mesh[static_cast<size_t>(axis)].size;
  const std::vector<Range> held = PartOf(mesh, rank, shape, axes, {});
  const std::vector<Range> needed = PartOf(mesh, rank, shape, axes, windows);
  Exchange exchange;
  exchange.source_shape = SizesOf(held);
  exchange.target_shape = SizesOf(needed);
  for (int64_t member = 0; member < members; ++member) {
    const int64_t other = RankAt(mesh, rank, group_axes, member);
    exchange.sends.push_back(Common(held, PartOf(mesh, other, shape, axes, windows)));
    exchange.receives.push_back(Common(needed, PartOf(mesh, other, shape, axes, {})));
  }
  return exchange;
}

}  // namespace cleave::runtime
