#include "ir/sharding/mesh/rank_axes.h"

#include <cstdint>

#include "base/check/check.h"

namespace cleave::ir {

AxisList MeshAxesOf(const std::vector<RankAxis>& axes, RankAxisSet group, const Mesh& mesh) {
  AxisList result;
  int next = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (int64_t size = 1; size < axes[i].size; ++next) {
      CLEAVE_CHECK(next < mesh.axis_count()) << "mesh " << mesh.ToString() << " ends within " << axes[i].name;
      size *= mesh.axis(AxisId(next)).size;
      CLEAVE_CHECK(axes[i].size % size == 0) << "mesh " << mesh.ToString() << " cuts across " << axes[i].name;
      if (group.Contains({uint64_t{1} << i})) result.push_back(AxisId(next));
    }
  }
  return result;
}

}  // namespace cleave::ir
