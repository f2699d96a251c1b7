#include "ir/graph/rings/rings.h"

#include <numeric>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

bool IsOfAttention(OpKind kind) {
  return kind == OpKind::kAttention || kind == OpKind::kAttentionLogsumexp || kind == OpKind::kAttentionGradientQuery ||
         kind == OpKind::kAttentionGradientKey || kind == OpKind::kAttentionGradientValue;
}

}  // namespace

std::optional<std::string> WhyNoRing(const Graph& graph, const Op& op) {
  if (!IsOfAttention(op.kind)) return "it is no attention";
  if (op.attributes.Get(attribute::kRate) > 0) return "its weights are dropped by their place";
  if (op.attributes.Get(attribute::kBiased)) return "it has a bias by distance";
  if (op.attributes.Has(attribute::kZigzag)) return "its rows lie in zigzag order";
  Attributes attributes = op.attributes;
  attributes.Set(attribute::kRing, true);
  const InferResult type = InferType(DefinitionOf(op), InputTypes(graph, op), attributes);
  if (const OpError* error = std::get_if<OpError>(&type)) return error->message;
  return std::nullopt;
}

std::vector<OpId> OpsOfRing(const Graph& graph, OpId attention) {
  std::vector<OpId> ops;
  const Op& root = graph.op(attention);
  for (const Op& op : graph.ops) {
    const bool is_read = op.kind == OpKind::kAttentionLogsumexp && root.inputs.size() > 3 && root.inputs[3] == op.id;
    const bool inherits = op.inherits.has_value() && op.inherits->op == attention && IsOfAttention(op.kind);
    if (op.id == attention || is_read || inherits) ops.push_back(op.id);
  }
  return ops;
}

Graph WithRings(Graph graph, const std::vector<OpId>& ops) {
  for (const OpId op : ops) graph.ops[op].attributes.Set(attribute::kRing, true);
  for (Op& op : graph.ops) {
    if (!op.inherits.has_value() || !graph.op(op.inherits->op).attributes.IsSet(attribute::kRing)) continue;
    const Op& root = graph.op(op.inherits->op);
    // All rules of a ring have the factors b.., h, g, r, e, and without it c before e.
    const int rows = static_cast<int>(RuleOf(graph, root).factors.size()) - 2;
    std::vector<int>& factors = op.inherits->factors;
    if (op.attributes.IsSet(attribute::kRing)) {
      factors.resize(static_cast<size_t>(rows) + 2);
      std::iota(factors.begin(), factors.end(), 0);
    } else {
      for (int& factor : factors) factor -= factor > rows ? 1 : 0;
    }
  }
  return graph;
}

}  // namespace cleave::ir
