#include "search/price/cost/communicators.h"

#include <algorithm>
#include <set>

namespace cleave::search {

int64_t CommunicatorsOf(const ir::Program& program) {
  const ir::Mesh mesh = ir::RankMesh(program);
  if (mesh.rank_count() == 1) return 0;
  std::set<ir::AxisList> groups;
  ir::AxisList all;
  for (int64_t axis = 0; axis < mesh.axis_count(); ++axis) all.push_back(ir::AxisId(axis));
  groups.insert(all);
  for (const ir::Step& step : program.steps) {
    const ir::Collective* const collective = ir::CommunicationOf(program, step);
    if (collective == nullptr) continue;
    ir::AxisList axes(collective->axes.begin(), collective->axes.end());
    std::sort(axes.begin(), axes.end());
    groups.insert(axes);
  }
  return static_cast<int64_t>(groups.size());
}

Bytes CommunicatorMemory(const Cluster& cluster, const ir::Program& program) {
  return cluster.communicator * CommunicatorsOf(program);
}

Bytes ReservedForCommunicators(const Cluster& cluster) {
  constexpr int64_t kUsual = 3;
  return cluster.devices() > 1 ? cluster.communicator * kUsual : Bytes(0);
}

}  // namespace cleave::search
