#include "ir/ops/table.h"

#include <map>

#include "base/check/check.h"

namespace cleave {
namespace {

using Table = std::map<std::string, OpDefinition>;

Table MakeTable() {
  Table table;
  auto add = [&](OpDefinition definition) {
    CLEAVE_CHECK(definition.infer != nullptr && definition.rule != nullptr && definition.flops != nullptr)
        << "op `" << definition.name << "` is not complete";
    std::string name = definition.name;
    CLEAVE_CHECK(table.emplace(std::move(name), std::move(definition)).second) << "an op is defined twice";
  };
#define CLEAVE_OP(Name) add(Define##Name());
#include "ir/ops/table.def"
#undef CLEAVE_OP
  return table;
}

const Table& TheTable() {
  static const Table* const table = new Table(MakeTable());
  return *table;
}

}  // namespace

const OpDefinition* FindOp(absl::string_view name) {
  const auto found = TheTable().find(std::string(name));
  return found == TheTable().end() ? nullptr : &found->second;
}

std::vector<const OpDefinition*> AllOps() {
  std::vector<const OpDefinition*> ops;
  for (const auto& [name, definition] : TheTable()) ops.push_back(&definition);
  return ops;
}

const OpDefinition& DefinitionOf(const Op& op) {
  const OpDefinition* definition = FindOp(op.kind);
  CLEAVE_CHECK(definition != nullptr) << "no op `" << op.kind << "` (" << op.name << ")";
  return *definition;
}

std::vector<TensorType> InputTypes(const Graph& graph, const Op& op) {
  std::vector<TensorType> types;
  for (OpId input : op.inputs) types.push_back(graph.op(input).type);
  return types;
}

Rule RuleOf(const Graph& graph, const Op& op) {
  return DefinitionOf(op).rule(InputTypes(graph, op), op.type, op.attributes);
}

std::vector<FactorRange> WholeRanges(const Rule& rule) {
  std::vector<FactorRange> ranges;
  for (const Factor& factor : rule.factors) ranges.push_back({.begin = 0, .size = factor.size, .global = factor.size});
  return ranges;
}

Bytes BytesTouched(absl::Span<const TensorType> inputs, const TensorType& output) {
  Bytes bytes = output.bytes();
  for (const TensorType& input : inputs) bytes += input.bytes();
  return bytes;
}

}  // namespace cleave
