// What the programs that a search makes have in common, so that each takes less time: ways between layouts, and orders
// of layers.
//
//   options.execution.shared = std::make_shared<SharedPrograms>();
//
// No program depends on which others were made before. Thread-safe.
#ifndef CLEAVE_SEARCH_PRICE_COST_SHARED_PROGRAMS_H_
#define CLEAVE_SEARCH_PRICE_COST_SHARED_PROGRAMS_H_

#include <list>
#include <memory>
#include <mutex>

#include "ir/program/lower/lower.h"
#include "ir/sharding/mesh/mesh.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

class SharedPrograms {
 public:
  // For programs on `mesh` whose redistributions are priced in seconds of `cluster`, or else in weighted bytes. Lives
  // as long as this.
  ir::SharedLowering& Of(const Cluster& cluster, const ir::Mesh& mesh, bool in_seconds);

 private:
  struct Own {
    Cluster cluster;  // Without the memory of its devices, which is no part of a price.
    ir::Mesh mesh;
    bool in_seconds = false;
    std::unique_ptr<ir::SharedLowering> lowering;
  };
  std::mutex mutex_;
  std::list<Own> all_;  // Prices refer to the clusters.
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_SHARED_PROGRAMS_H_
