#include "codegen/program/stage_order.h"

#include <algorithm>
#include <optional>

#include "codegen/source/parts.h"

namespace cleave::codegen {
namespace {

void AddRange(const Emission& emission, ir::ValueId value, std::vector<MemoryRange>& ranges) {
  const std::optional<ir::ValueId> root = emission.storage.root[value];
  if (!root.has_value()) return;
  const ir::Storage& storage = emission.storage;
  const ir::BufferPlan::Buffer& buffer = storage.BufferOf(*root);
  // The host's memory is counted as if it lay behind the arena.
  const int64_t begin = buffer.offset + (storage.host.Find(*root) != nullptr ? storage.buffers.total.value() : 0);
  const ir::Part* const part = PartOf(emission, value);
  const auto run = part == nullptr ? std::nullopt : ir::RunOf(emission.program, value, *part);
  if (!run.has_value() || storage.PiecesOf(value) > 1) {
    ranges.push_back({begin, begin + buffer.size.value()});
    return;
  }
  const ir::Value& info = emission.value(value);
  const int64_t own = begin + run->begin * ir::ElementSize(info.type.dtype).value();
  ranges.push_back({own, own + ir::LargestLocalBytes(info.layout, emission.program.mesh, info.type).value()});
}

// What the ranks send each other in the stage, or null.
const ir::Collective* CommunicationOf(const Emission& emission, const ir::FusedStage& fused) {
  const auto* single = std::get_if<ir::SingleStep>(&fused.action);
  return single != nullptr ? ir::CommunicationOf(emission.program, emission.step(single->step)) : nullptr;
}

// Messages of manual models stay where the text of the model places them.
bool CanOverlap(const Emission& emission, const ir::FusedStage& fused) {
  const auto* single = std::get_if<ir::SingleStep>(&fused.action);
  if (single == nullptr) return false;
  if (std::holds_alternative<ir::HostCopy>(emission.step(single->step).action)) return true;
  const ir::Collective* collective = CommunicationOf(emission, fused);
  return collective != nullptr && !collective->messages.has_value();
}

StageMemory MemoryOfStage(const Emission& emission, const ir::FusedStage& fused) {
  StageMemory memory = {.phase = fused.phase,
                        .repeat = fused.repeat,
                        .pass = fused.pass,
                        .can_overlap = CanOverlap(emission, fused),
                        .is_collective = CommunicationOf(emission, fused) != nullptr,
                        .is_work = false};
  for (const int i : ir::StepsOf(fused)) {
    const ir::Step& step = emission.step(i);
    if (emission.fusion.DoesNothing(step)) continue;
    memory.is_work = true;
    for (const ir::ValueId value : ir::Reads(step)) AddRange(emission, value, memory.reads);
    for (const ir::ValueId value : ir::Writes(step)) AddRange(emission, value, memory.writes);
  }
  return memory;
}

// Loss and metrics are read when the backward pass is finished.
StageMemory MemoryOfResults(const Emission& emission) {
  const ir::Program& program = emission.program;
  StageMemory results = {.phase = ir::Phase::kUpdate,
                         .repeat = program.time.has_value() ? ir::Repeat::kOnceAfter : ir::Repeat::kEach,
                         .is_work = false};
  if (program.loss.has_value()) AddRange(emission, *program.loss, results.reads);
  for (const ir::ProgramMetric& metric : program.metrics) AddRange(emission, metric.value, results.reads);
  return results;
}

}  // namespace

std::vector<OrderedStage> OrderStages(const Emission& emission) {
  std::vector<StageMemory> memory;
  std::vector<const ir::FusedStage*> stages;  // Null for the reading of results.
  for (const ir::FusedStage& fused : emission.fusion.stages) {
    const bool begins_update =
        fused.phase == ir::Phase::kUpdate && (memory.empty() || memory.back().phase != ir::Phase::kUpdate);
    if (begins_update) {
      memory.push_back(MemoryOfResults(emission));
      stages.push_back(nullptr);
    }
    memory.push_back(MemoryOfStage(emission, fused));
    stages.push_back(&fused);
  }
  std::vector<OrderedStage> order;
  for (const StageAction& action : OverlapCollectives(memory)) {
    const ir::FusedStage* stage = stages[static_cast<size_t>(action.stage)];
    if (stage != nullptr) order.push_back({action.what, stage, action.phase, action.repeat, action.pass});
  }
  return order;
}

}  // namespace cleave::codegen
