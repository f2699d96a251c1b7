#include "ir/graph/ops/rule_table.h"

#include <utility>

#include "ir/graph/ops/ops.h"

namespace cleave::ir {
namespace {

void AppendType(const TensorType& type, std::vector<int64_t>& key) {
  key.push_back(static_cast<int64_t>(type.dtype));
  key.push_back(type.rank());
  key.insert(key.end(), type.shape.begin(), type.shape.end());
}

}  // namespace

const Rule& RuleTable::Of(OpKind kind, absl::Span<const TensorType* const> inputs, const TensorType& output,
                          const Attributes& attributes) {
  key_.assign(1, static_cast<int64_t>(kind));
  for (const TensorType* input : inputs) AppendType(*input, key_);
  AppendType(output, key_);
  std::vector<Entry>& entries = entries_[key_];
  for (const Entry& entry : entries) {
    if (entry.attributes.values == attributes.values) return *entry.rule;
  }
  std::vector<TensorType> types;
  for (const TensorType* input : inputs) types.push_back(*input);
  auto rule = std::make_unique<const Rule>(DefinitionOf(kind).rule(types, output, attributes));
  entries.push_back({.attributes = attributes, .rule = std::move(rule)});
  ++size_;
  return *entries.back().rule;
}

const Rule& RuleTable::Of(const Graph& graph, const Op& op) {
  inputs_.clear();
  for (const OpId input : op.inputs) inputs_.push_back(&graph.op(input).type);
  return Of(op.kind, inputs_, op.type, op.attributes);
}

}  // namespace cleave::ir
