// Pins of a graph whose ops have been numbered anew.
#ifndef CLEAVE_IR_SHARDING_PINS_MOVE_H_
#define CLEAVE_IR_SHARDING_PINS_MOVE_H_

#include <functional>

#include "absl/types/span.h"
#include "base/strong_id/strong_id.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

// `places`: where the ops that stay are now, as OnlyOps (ir/graph/roles.h) says. Pins of other ops go, and so do
// regions without ops.
void MovePins(const std::function<bool(OpId)>& stays, const IdVector<OpId, OpId>& places, Pins& pins);

// An op that a transform adds, and an op beside which it belongs, such as its first reader. Both as numbered anew.
struct AddedOp {
  OpId op, beside;
};

// Gives each added op the region and the stage of the op beside it, where that has any. Pins are as numbered anew.
void AddToPins(absl::Span<const AddedOp> added, Pins& pins);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_SHARDING_PINS_MOVE_H_
