#include "search/price/cost/shared_programs.h"

#include <algorithm>

#include "search/price/cost/time_prices.h"

namespace cleave::search {

ir::SharedLowering& SharedPrograms::Of(const Cluster& cluster, const ir::Mesh& mesh, bool in_seconds) {
  Cluster links = cluster;
  links.memory_per_device = Bytes(0);
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Own& own) {
    return own.in_seconds == in_seconds && own.mesh == mesh && own.cluster == links;
  });
  if (found != all_.end()) return *found->lowering;
  Own& own = all_.emplace_back(Own{.cluster = links, .mesh = mesh, .in_seconds = in_seconds, .lowering = nullptr});
  own.lowering.reset(new ir::SharedLowering{
      .ways = ir::SharedRedistributions(mesh, in_seconds ? SecondsOfCollectives(own.cluster, mesh) : nullptr)});
  return *own.lowering;
}

}  // namespace cleave::search
