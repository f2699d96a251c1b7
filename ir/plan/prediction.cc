#include "ir/plan/prediction.h"

#include <variant>
#include <vector>

namespace cleave {
namespace {

enum class MemoryKind { kParameter, kGradient, kOptimizer, kActivation, kBuffer };

MemoryKind KindOf(const Graph& graph, const Value& value, const Step& writer) {
  const Op& origin = graph.op(value.origin);
  const bool is_source = Reads(writer).empty();
  if (origin.kind == "parameter" && is_source) return MemoryKind::kParameter;
  if (origin.kind == "state" && is_source) return MemoryKind::kOptimizer;
  if (origin.gradient_of.has_value() && graph.op(*origin.gradient_of).kind == "parameter") return MemoryKind::kGradient;
  return std::holds_alternative<Compute>(writer.action) ? MemoryKind::kActivation : MemoryKind::kBuffer;
}

Bytes& Part(MemoryPrediction& memory, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kParameter:
      return memory.parameters;
    case MemoryKind::kGradient:
      return memory.gradients;
    case MemoryKind::kOptimizer:
      return memory.optimizer;
    case MemoryKind::kActivation:
      return memory.activations;
    case MemoryKind::kBuffer:
      return memory.buffers;
  }
  return memory.buffers;
}

}  // namespace

MemoryPrediction PredictMemory(const Graph& graph, const Program& program) {
  // The step that reads a value last; sources live from the start to the end.
  const size_t end = program.steps.size();
  IdVector<ValueId, size_t> last_read(program.values.size(), 0);
  for (size_t step = 0; step < end; ++step) {
    for (ValueId write : Writes(program.steps[step])) last_read[write] = step;
    for (ValueId read : Reads(program.steps[step])) last_read[read] = step;
  }
  std::vector<std::vector<std::pair<MemoryKind, Bytes>>> freed_after(end + 1);
  MemoryPrediction now, most;
  const auto size_of = [&](ValueId value) {
    return ElementSize(program.value(value).type.dtype) * ElementCount(LargestLocalShape(program, value));
  };
  for (const Step& step : program.steps) {
    if (!Reads(step).empty()) continue;
    for (ValueId write : Writes(step)) Part(now, KindOf(graph, program.value(write), step)) += size_of(write);
  }
  for (size_t step = 0; step < end; ++step) {
    const bool is_source = Reads(program.steps[step]).empty();
    for (ValueId write : Writes(program.steps[step])) {
      if (is_source) continue;
      const MemoryKind kind = KindOf(graph, program.value(write), program.steps[step]);
      const Bytes size = size_of(write);
      Part(now, kind) += size;
      freed_after[last_read[write]].push_back({kind, size});
    }
    now.peak = now.parameters + now.gradients + now.optimizer + now.activations + now.buffers;
    if (now.peak > most.peak) most = now;
    for (const auto& [kind, size] : freed_after[step]) Part(now, kind) = Part(now, kind) - size;
  }
  return most;
}

}  // namespace cleave
