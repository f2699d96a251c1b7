#include "ir/graph/ops/rule_table.h"

#include <utility>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

void AppendType(const TensorType& type, std::vector<int64_t>& key) {
  key.push_back(static_cast<int64_t>(type.dtype) << 32 | type.rank());
  for (const int64_t size : type.shape) key.push_back(size);
}

}  // namespace

const Rule& RuleTable::Of(OpKind kind, absl::Span<const TensorType* const> inputs, const TensorType& output,
                          const Attributes& attributes) {
  if (const Rule* const known = Known(kind, inputs, output, attributes)) return *known;
  std::vector<TensorType> types;
  for (const TensorType* input : inputs) types.push_back(*input);
  auto rule = std::make_unique<const Rule>(DefinitionOf(kind).rule(types, output, attributes));
  std::vector<Entry>& entries = EntriesOf(kind, inputs, output);
  entries.push_back({.attributes = attributes, .rule = std::move(rule)});
  ++size_;
  return *entries.back().rule;
}

const Rule* RuleTable::Known(OpKind kind, absl::Span<const TensorType* const> inputs, const TensorType& output,
                             const Attributes& attributes) {
  for (const Entry& entry : EntriesOf(kind, inputs, output)) {
    if (entry.attributes == attributes) return entry.rule.get();
  }
  return nullptr;
}

const Rule& RuleTable::Of(const Graph& graph, const Op& op) {
  return Of(op.kind, InputTypes(graph, op), op.type, op.attributes);
}

const Rule* RuleTable::Known(const Graph& graph, const Op& op) {
  return Known(op.kind, InputTypes(graph, op), op.type, op.attributes);
}

std::vector<RuleTable::Entry>& RuleTable::EntriesOf(OpKind kind, absl::Span<const TensorType* const> inputs,
                                                    const TensorType& output) {
  key_.clear();
  key_.push_back(static_cast<int64_t>(kind));
  for (const TensorType* input : inputs) AppendType(*input, key_);
  AppendType(output, key_);
  return entries_[key_];
}

absl::Span<const TensorType* const> RuleTable::InputTypes(const Graph& graph, const Op& op) {
  inputs_.clear();
  for (const OpId input : op.inputs) inputs_.push_back(&graph.op(input).type);
  return inputs_;
}

}  // namespace cleave::ir
