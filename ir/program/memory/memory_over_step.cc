#include "ir/program/memory/memory_over_step.h"

#include <algorithm>

#include "ir/program/memory/roles.h"
#include "ir/program/schedule/buffers.h"

namespace cleave::ir {

Bytes HeldBytes::sum() const {
  Bytes sum;
  for (const Bytes bytes : by_role) sum += bytes;
  return sum;
}

// Adds each buffer where it begins to be held and takes it away behind the last stage, then sums from left to right.
std::vector<HeldBytes> MemoryOverStep(const Graph& graph, const Program& program, const MemoryPlan& plan) {
  const Storage& storage = plan.storage;
  const IdVector<ValueId, const Step*> writers = WritersOf(program);
  const IdVector<ValueId, LiveRange> ranges = LiveRanges(storage.stages, storage.requests);
  std::vector<HeldBytes> held(storage.stages.size() + 1);
  for (const BufferRequest& request : storage.requests) {
    const ValueId value = request.value;
    const LiveRange& range = ranges[value];
    if (range.first > range.last) continue;
    const auto role = static_cast<size_t>(RoleOf(graph, program.value(value), *writers[value]));
    const Bytes size = storage.buffers.Find(value)->size;
    held[static_cast<size_t>(std::max<int64_t>(range.first, 0))].by_role[role] += size;
    Bytes& behind = held[std::min(static_cast<size_t>(range.last) + 1, storage.stages.size())].by_role[role];
    behind = behind - size;
  }
  held.pop_back();
  // The stage of the storage in which loss and metrics are read stands before the update (storage.h).
  const auto is_update = [](const FusedStage& stage) { return stage.phase == Phase::kUpdate; };
  const auto asked = static_cast<size_t>(std::find_if(plan.fusion.stages.begin(), plan.fusion.stages.end(), is_update) -
                                         plan.fusion.stages.begin());
  for (size_t i = 0; i < held.size(); ++i) {
    held[i].stage = i <= asked ? i : i - 1;
    for (size_t role = 0; i > 0 && role < kMemoryRoles.size(); ++role)
      held[i].by_role[role] += held[i - 1].by_role[role];
  }
  return held;
}

}  // namespace cleave::ir
