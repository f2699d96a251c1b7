// Pins of a graph whose ops have been numbered anew.
#ifndef CLEAVE_IR_SHARDING_PINS_MOVE_H_
#define CLEAVE_IR_SHARDING_PINS_MOVE_H_

#include <functional>

#include "base/strong_id/strong_id.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

// `places`: where the ops that stay are now, as OnlyOps (ir/graph/roles.h) says. Pins of other ops go, and so do
// regions without ops.
void MovePins(const std::function<bool(OpId)>& stays, const IdVector<OpId, OpId>& places, Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_PINS_MOVE_H_
