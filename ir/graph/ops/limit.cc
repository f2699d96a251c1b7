#include "ir/graph/ops/limit.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

// The limit that `op` sets for the integers of `value`; 0 if there is none.
int64_t ChoicesOf(const Graph& graph, const Op& op, OpId value) {
  const OpDefinition& definition = DefinitionOf(op);
  if (definition.choices == nullptr) return 0;
  const std::vector<TensorType> types = InputTypes(graph, op);
  int64_t least = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!(op.inputs[i] == value)) continue;
    const int64_t choices = definition.choices(types, op.attributes, static_cast<int>(i));
    if (choices > 0) least = least == 0 ? choices : std::min(least, choices);
  }
  return least;
}

// Whether the op's elements are some of those of its inputs.
bool Selects(const Op& op) { return DefinitionOf(op).op_class == OpClass::kMovement || op.kind == OpKind::kWhere; }

}  // namespace

int64_t LimitOf(const Graph& graph, OpId input) {
  int64_t limit = 0;
  std::set<OpId> same = {input};  // Values that hold integers of the input.
  for (const Op& op : graph.ops) {
    for (const OpId value : op.inputs) {
      if (same.count(value) == 0) continue;
      if (const int64_t choices = ChoicesOf(graph, op, value); choices > 0) {
        limit = limit == 0 ? choices : std::min(limit, choices);
      } else if (Selects(op) && op.type.dtype == DType::kI32) {
        same.insert(op.id);
      }
    }
  }
  return limit;
}

}  // namespace cleave::ir
