#include "ir/graph/ops/limit.h"

#include <algorithm>
#include <map>
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
bool Selects(const Op& op) {
  const bool selects = DefinitionOf(op).op_class == OpClass::kMovement || op.kind == OpKind::kWhere;
  return selects && op.type.dtype == DType::kI32;
}

// The integer of `value` that `op` leaves out: where(not_equal(value, 7), value, other) leaves out 7.
std::optional<int64_t> LeftOut(const Graph& graph, const Op& op, OpId value) {
  if (op.kind != OpKind::kWhere || op.inputs[1] != value) return std::nullopt;
  const Op& condition = graph.op(op.inputs[0]);
  if (condition.kind != OpKind::kNotEqual || condition.inputs[0] != value) return std::nullopt;
  const Op& number = graph.op(condition.inputs[1]);
  if (number.kind != OpKind::kConstant) return std::nullopt;
  return static_cast<int64_t>(number.attributes.Get(attribute::kValue));
}

}  // namespace

IntegerLimit LimitOf(const Graph& graph, OpId input) {
  std::optional<IntegerLimit> all;
  std::map<OpId, std::optional<int64_t>> same = {{input, {}}};  // Values that hold integers of the input, but for one.
  for (const Op& op : graph.ops) {
    for (const OpId value : op.inputs) {
      const auto found = same.find(value);
      if (found == same.end()) continue;
      const std::optional<int64_t> left_out = found->second;
      if (const int64_t choices = ChoicesOf(graph, op, value); choices > 0) {
        if (!all.has_value()) all = {choices, left_out};  // Metrics stand behind the loss.
        all->limit = std::min(all->limit, choices);
        if (all->besides != left_out && op.phase != Phase::kMetric) all->besides.reset();
      } else if (Selects(op)) {
        const std::optional<int64_t> own = LeftOut(graph, op, value);
        same.emplace(op.id, left_out.has_value() ? left_out : own);
      }
    }
  }
  if (!all.has_value()) return {};
  if (all->besides.has_value() && *all->besides >= 0 && *all->besides < all->limit) all->besides.reset();
  return *all;
}

}  // namespace cleave::ir
