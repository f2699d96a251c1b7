// Whether two demands on one tensor can both be met, as far as that is known without the mesh.
#ifndef CLEAVE_FRONTEND_EVALUATE_PINS_AGREEMENT_H_
#define CLEAVE_FRONTEND_EVALUATE_PINS_AGREEMENT_H_

#include <variant>

#include "ir/sharding/pins/pins.h"

namespace cleave::frontend {

using PinDemand = std::variant<ir::ShardPin, ir::LayoutPin, ir::ReplicatePin, ir::DataParallelPin>;

// Two shards agree if their slices do, and `auto` agrees with everything; two layouts agree if they name the same axes;
// a replica agrees with demands that cut nothing. A shard and a layout are left to the search. The relation is
// symmetric.
bool Agree(const PinDemand& a, const PinDemand& b);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_EVALUATE_PINS_AGREEMENT_H_
