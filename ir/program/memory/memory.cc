#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "ir/program/fuse/loop_batches.h"
#include "ir/program/memory/checkpoint.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/memory/roles.h"
#include "ir/program/memory/workspace.h"
#include "ir/program/schedule/buffers.h"

namespace cleave::ir {
namespace {

Bytes& BytesFor(MemoryPrediction& memory, MemoryRole role) {
  switch (role) {
    case MemoryRole::kParameter:
      return memory.parameters;
    case MemoryRole::kGradient:
      return memory.gradients;
    case MemoryRole::kOptimizer:
      return memory.optimizer;
    case MemoryRole::kActivation:
      return memory.activations;
    case MemoryRole::kCache:
      return memory.cache;
    case MemoryRole::kBuffer:
      return memory.buffers;
  }
  return memory.buffers;
}

// Whether a forward value is not used in the stage of the peak: it waits for the backward pass.
bool Waits(const Graph& graph, const Value& value, const Step& writer, MemoryRole role, const Stage& stage,
           ValueId id) {
  if (role != MemoryRole::kActivation || IsSource(writer)) return false;
  if (graph.op(value.origin).phase != Phase::kForward) return false;
  const auto touches = [&](const std::vector<ValueId>& values) {
    return std::find(values.begin(), values.end(), id) != values.end();
  };
  return !touches(stage.reads) && !touches(stage.writes);
}

MemoryUse UseOf(const Graph& graph, const Program& program, const Storage& storage, Bytes workspace) {
  const IdVector<ValueId, const Step*> writers = WritersOf(program);
  const int64_t peak = PeakDemand(storage.stages, storage.requests).stage;
  MemoryUse use;
  Bytes held;
  const IdVector<ValueId, LiveRange> ranges = LiveRanges(storage.stages, storage.requests);
  for (const BufferRequest& request : storage.requests) {
    const ValueId value = request.value;
    if (!ranges[value].Has(peak)) continue;
    const Step& writer = *writers[value];
    const MemoryRole role = RoleOf(graph, program.value(value), writer);
    const Bytes size = storage.buffers.Find(value)->size;
    held += size;
    BytesFor(use.prediction, role) += size;
    use.at_peak.push_back({.name = program.value(value).name, .role = role, .size = size, .line = writer.line});
    const Stage& stage = storage.stages[static_cast<size_t>(peak)];
    if (Waits(graph, program.value(value), writer, role, stage, value)) use.waiting += size;
  }
  std::stable_sort(use.at_peak.begin(), use.at_peak.end(),
                   [](const HeldTensor& a, const HeldTensor& b) { return a.size > b.size; });
  use.prediction.peak = storage.buffers.total + workspace;
  use.prediction.buffers += use.prediction.peak - held;
  use.prediction.host = storage.host.total;
  return use;
}

void AddCheckpoint(const Program& program, CheckpointCopy copy, MemoryPrediction& memory) {
  if (copy == CheckpointCopy::kNone) return;
  memory.checkpoint = BytesWritten(program);
  (copy == CheckpointCopy::kOnHost ? memory.host : memory.peak) += memory.checkpoint;
}

// With as many batches of loops as take no more memory than loops one by one.
Fusion FuseWithin(const Program& program, FuseOptions fuse) {
  const LoopBatches most = std::exchange(fuse.loop_batches, LoopBatches::kNone);
  Fusion one_by_one = Fuse(program, fuse);
  if (most == LoopBatches::kNone) return one_by_one;
  const Bytes limit = DemandOf(program, one_by_one);
  for (const LoopBatches batches : {LoopBatches::kAll, LoopBatches::kOfLayers}) {
    if (batches > most) continue;
    Fusion fusion = one_by_one;
    BatchLoops(program, batches, fusion);
    if (DemandOf(program, fusion) <= limit) return fusion;
  }
  return one_by_one;
}

}  // namespace

MemoryPlan PlanMemory(const Graph& graph, const Program& program, const FuseOptions& fuse, CheckpointCopy checkpoint) {
  Fusion fusion = FuseWithin(program, fuse);
  Storage storage = PlanStorage(program, fusion);
  MemoryUse use = UseOf(graph, program, storage, WorkspaceOf(program, fusion, fuse));
  AddCheckpoint(program, checkpoint, use.prediction);
  return {.fuse = fuse,
          .checkpoint = checkpoint,
          .fusion = std::move(fusion),
          .storage = std::move(storage),
          .use = std::move(use)};
}

}  // namespace cleave::ir
