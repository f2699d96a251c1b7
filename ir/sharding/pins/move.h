// Pins of a graph whose ops have been numbered anew.
#ifndef CLEAVE_IR_SHARDING_PINS_MOVE_H_
#define CLEAVE_IR_SHARDING_PINS_MOVE_H_

#include <optional>

#include "base/strong_id/strong_id.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

// `places`: of each op before, where it is now. Pins of ops that are gone go, and so do regions without ops.
void MovePins(const IdVector<OpId, std::optional<OpId>>& places, Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_PINS_MOVE_H_
