#include <vector>

#include "base/check/check.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/inference.h"

namespace cleave::ir {
namespace {

using Table = std::vector<OpDefinition>;  // By kind.

Table MakeTable() {
  Table table;
  const auto add = [&](OpKind kind, OpDefinition definition) {
    CLEAVE_CHECK(definition.infer != nullptr && definition.rule != nullptr && definition.flops != nullptr)
        << "op `" << kind << "` is not complete";
    definition.kind = kind;
    if (definition.gives_16_bits) definition.signature.push_back(ResultArgument());
    if (definition.element.has_value()) definition.element->function.name = std::string(OpKindName(kind));
    table.push_back(std::move(definition));
  };
#define CLEAVE_OP(Name, name) add(OpKind::k##Name, Define##Name());
#include "ir/graph/op_kind/table.def"
#undef CLEAVE_OP
  return table;
}

const Table& TheTable() {
  static const Table* const table = new Table(MakeTable());
  return *table;
}

}  // namespace

const OpDefinition* FindOp(absl::string_view name) {
  const std::optional<OpKind> kind = ParseOpKind(name);
  return kind.has_value() ? &DefinitionOf(*kind) : nullptr;
}

std::vector<const OpDefinition*> AllOps() {
  std::vector<const OpDefinition*> ops;
  for (const OpDefinition& definition : TheTable()) ops.push_back(&definition);
  return ops;
}

const OpDefinition& DefinitionOf(OpKind kind) { return TheTable()[static_cast<size_t>(kind)]; }

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

Treatment TreatmentOf(const Op& op) {
  const OpDefinition& definition = DefinitionOf(op);
  return definition.treatment_by_attributes == nullptr ? definition.treatment
                                                       : definition.treatment_by_attributes(op.attributes);
}

Bytes BytesTouched(const OpDefinition& definition, absl::Span<const TensorType> inputs, const TensorType& output,
                   int tensor) {
  const Bytes whole = tensor < 0 ? output.bytes() : inputs[static_cast<size_t>(tensor)].bytes();
  if (definition.looks_up == tensor) return std::min(whole, output.bytes());
  const bool is_changed = definition.works_in_place && tensor <= 0;
  return is_changed ? std::min(whole, inputs[1].bytes()) : whole;
}

Bytes BytesTouched(const OpDefinition& definition, absl::Span<const TensorType> inputs, const TensorType& output) {
  Bytes bytes;
  for (int tensor = -1; tensor < static_cast<int>(inputs.size()); ++tensor) {
    bytes += BytesTouched(definition, inputs, output, tensor);
  }
  return bytes;
}

}  // namespace cleave::ir
