#include "codegen/source/stage_order.h"

#include <algorithm>
#include <optional>

namespace cleave {
namespace {

void AddRange(const Emission& emission, ValueId value, std::vector<MemoryRange>& ranges) {
  const std::optional<ValueId> root = emission.storage.root[value];
  if (!root.has_value()) return;
  const BufferPlan::Buffer& buffer = *emission.storage.buffers.Find(*root);
  ranges.push_back({buffer.offset, buffer.offset + buffer.size.value()});
}

// Messages of manual models stay where their text places them.
bool CanOverlap(const Emission& emission, const FusedStage& fused) {
  const auto* single = std::get_if<SingleStep>(&fused.action);
  if (single == nullptr || !emission.target.is_device) return false;
  const auto* collective = std::get_if<Collective>(&emission.step(single->step).action);
  return collective != nullptr && !collective->messages.has_value();
}

StageMemory MemoryOfStage(const Emission& emission, const FusedStage& fused) {
  StageMemory memory = {.phase = fused.phase, .can_overlap = CanOverlap(emission, fused), .is_work = false};
  for (const int i : StepsOf(fused)) {
    const Step& step = emission.step(i);
    if (IsAlias(step)) continue;
    memory.is_work = true;
    for (const ValueId value : Reads(step)) AddRange(emission, value, memory.reads);
    for (const ValueId value : Writes(step)) AddRange(emission, value, memory.writes);
  }
  return memory;
}

// Loss and metrics are read when the backward pass is finished.
StageMemory MemoryOfResults(const Emission& emission) {
  StageMemory results = {.phase = Phase::kUpdate, .is_work = false};
  const Program& program = emission.program;
  if (program.loss.has_value()) AddRange(emission, *program.loss, results.reads);
  for (const ProgramMetric& metric : program.metrics) AddRange(emission, metric.value, results.reads);
  return results;
}

}  // namespace

std::vector<OrderedStage> OrderStages(const Emission& emission) {
  std::vector<StageMemory> memory;
  std::vector<const FusedStage*> stages;  // Null for the reading of results.
  for (const FusedStage& fused : emission.fusion.stages) {
    const bool begins_update =
        fused.phase == Phase::kUpdate && (memory.empty() || memory.back().phase != Phase::kUpdate);
    if (begins_update) {
      memory.push_back(MemoryOfResults(emission));
      stages.push_back(nullptr);
    }
    memory.push_back(MemoryOfStage(emission, fused));
    stages.push_back(&fused);
  }
  std::vector<OrderedStage> order;
  for (const StageAction& action : OverlapCollectives(memory)) {
    const FusedStage* stage = stages[static_cast<size_t>(action.stage)];
    if (stage != nullptr) order.push_back({action.what, stage, action.phase});
  }
  return order;
}

}  // namespace cleave
