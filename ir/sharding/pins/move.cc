#include "ir/sharding/pins/move.h"

#include <algorithm>
#include <map>
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

void AddToPins(absl::Span<const AddedOp> added, Pins& pins) {
  std::map<OpId, size_t> region_of;
  for (size_t i = 0; i < pins.regions.size(); ++i) {
    for (const OpId op : pins.regions[i].ops) region_of.emplace(op, i);
  }
  std::map<OpId, StagePin> stage_of;
  for (const StagePin& pin : pins.stages) stage_of.emplace(pin.op, pin);
  for (const AddedOp& one : added) {
    if (const auto region = region_of.find(one.beside); region != region_of.end()) {
      pins.regions[region->second].ops.push_back(one.op);
    }
    if (const auto stage = stage_of.find(one.beside); stage != stage_of.end()) {
      pins.stages.push_back({.op = one.op, .stage = stage->second.stage, .span = stage->second.span});
    }
  }
  std::stable_sort(pins.stages.begin(), pins.stages.end(),
                   [](const StagePin& a, const StagePin& b) { return a.op < b.op; });
  for (Region& region : pins.regions) std::sort(region.ops.begin(), region.ops.end());
}

}  // namespace cleave::ir
