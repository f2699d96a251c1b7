// Moves the steps of a program to where less waits for communication.
//
//   program = OrderForOverlap(std::move(program), fusion, seconds);
//
// A target that overlaps starts a collective when its inputs are there, and waits for it in front of its first reader.
// The order of the training graph leaves little to do meanwhile: a layer's gradient of weights stands in front of the
// collective that sends the gradient of its input on, where it should run beside it.
//
//   graph    a_grad  w_grad  [a_grad sent]  v_grad …      the collective waits for nothing, and all wait for it
//   now      a_grad  [a_grad sent]  w_grad  v_grad …      w_grad runs beside it
#ifndef CLEAVE_IR_PROGRAM_ORDER_OVERLAP_H_
#define CLEAVE_IR_PROGRAM_ORDER_OVERLAP_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/units/units.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"

namespace cleave::ir {

// The orders of layers of several programs, so that equal ones are ordered once. Thread-safe.
class OverlapOrders {
 public:
  // Of pieces, as numbers that say all that their order depends on.
  using Order = std::vector<size_t>;
  std::optional<Order> Find(const std::vector<int64_t>& pieces) const;
  void Add(std::vector<int64_t> pieces, Order order);

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_map<std::vector<int64_t>, Order> orders_;
};

// The same steps in another order. Those of one layer change places, within a phase and between copies to the host and
// back, sends, receives and glances, which stay where they are; what runs as one piece stays one, and equal layers are
// ordered alike. First that piece is next which can start first, and of several the one with the longest way to where
// the layer ends. Then one piece at a time moves to where the layer takes less time. The pieces of a layer that would
// gain nothing stay as they are. Long layers, and long runs of steps that belong to none, are ordered part by part. All
// ranks get the same order. `seconds`: of each stage of `fusion`, which is the program's. `orders`: for several
// programs; null: of this one.
Program OrderForOverlap(Program program, const Fusion& fusion, const std::vector<Seconds>& seconds,
                        OverlapOrders* orders = nullptr);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_ORDER_OVERLAP_H_
