// What pins demand of single ops, which a search keeps.
#ifndef CLEAVE_SEARCH_MODEL_FACTS_DEMANDS_H_
#define CLEAVE_SEARCH_MODEL_FACTS_DEMANDS_H_

#include <map>
#include <optional>

#include "ir/graph/graph.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::search {

// What a pin demands of one op.
struct OpDemand {
  std::optional<ir::Strategy> strategy;  // The strategy of an op, or the storage of a source.
  std::optional<ir::Layout> output;      // The layout that consumers see.

  bool operator==(const OpDemand&) const = default;
};

// The demands, by op. Ops without a demand are left out.
using OpDemands = std::map<ir::OpId, OpDemand>;

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_FACTS_DEMANDS_H_
