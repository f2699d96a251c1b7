#include "ir/program/memory/roles.h"

#include <variant>

#include "ir/program/fuse/fuse.h"

namespace cleave::ir {

MemoryRole RoleOf(const Graph& graph, const Value& value, const Step& writer) {
  const Op& origin = graph.op(value.origin);
  if (IsSource(writer) && (origin.kind == OpKind::kParameter || ComputeOf(writer)->is_kept)) {
    return MemoryRole::kParameter;
  }
  if (IsSource(writer) && origin.kind == OpKind::kState)
    return origin.phase == Phase::kForward ? MemoryRole::kCache : MemoryRole::kOptimizer;
  if (origin.gradient_of.has_value() && graph.op(*origin.gradient_of).kind == OpKind::kParameter)
    return MemoryRole::kGradient;
  const bool is_copy_back = std::holds_alternative<HostCopy>(writer.action);
  return ComputeOf(writer) != nullptr || is_copy_back ? MemoryRole::kActivation : MemoryRole::kBuffer;
}

IdVector<ValueId, const Step*> WritersOf(const Program& program) {
  IdVector<ValueId, const Step*> writers(program.values.size(), nullptr);
  for (const Step& step : program.steps) {
    for (const ValueId value : Writes(step)) writers[value] = &step;
  }
  return writers;
}

absl::string_view MemoryRoleName(MemoryRole role) {
  switch (role) {
    case MemoryRole::kParameter:
      return "parameter";
    case MemoryRole::kGradient:
      return "gradient";
    case MemoryRole::kOptimizer:
      return "optimizer state";
    case MemoryRole::kActivation:
      return "activation";
    case MemoryRole::kCache:
      return "cache";
    case MemoryRole::kBuffer:
      return "buffer";
  }
  return "";
}

}  // namespace cleave::ir
