#include "ir/sharding/pins/move.h"

#include <algorithm>
#include <vector>

namespace cleave::ir {

void MovePins(const std::function<bool(OpId)>& stays, const IdVector<OpId, OpId>& places, Pins& pins) {
  const auto is_gone = [&](OpId op) { return !stays(op); };
  const auto move = [&](auto& all) {
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& one) { return is_gone(one.op); }), all.end());
    for (auto& one : all) one.op = places[one.op];
  };
  move(pins.pins);
  move(pins.priorities);
  move(pins.retentions);
  move(pins.stages);
  for (Region& region : pins.regions) {
    std::vector<OpId>& ops = region.ops;
    ops.erase(std::remove_if(ops.begin(), ops.end(), is_gone), ops.end());
    for (OpId& op : ops) op = places[op];
  }
  pins.regions.erase(
      std::remove_if(pins.regions.begin(), pins.regions.end(), [](const Region& region) { return region.ops.empty(); }),
      pins.regions.end());
}

}  // namespace cleave::ir
