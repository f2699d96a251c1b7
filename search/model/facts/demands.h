// Demands: what pins fix for single ops. A search keeps them.
#ifndef CLEAVE_SEARCH_MODEL_FACTS_DEMANDS_H_
#define CLEAVE_SEARCH_MODEL_FACTS_DEMANDS_H_

#include <map>
#include <optional>

#include "ir/graph/graph.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::search {

// The demand on one op.
struct OpDemand {
  std::optional<ir::Strategy> strategy;  // Of an op; of a source that of its storage layout.
  std::optional<ir::Layout> output;      // The layout that readers see.

  bool operator==(const OpDemand&) const = default;
};

// By op. Ops without a demand are absent.
using OpDemands = std::map<ir::OpId, OpDemand>;

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_FACTS_DEMANDS_H_
