#include "ir/transforms/distribute/append.h"

#include <utility>
#include <variant>

#include "base/check/check.h"
#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

OpId Append(Op op, const Op& original, OpPlan plan, Distributed& to) {
  op.id = OpId(static_cast<int64_t>(to.graph.ops.size()));
  if (op.gradient_of.has_value()) op.gradient_of = to.values[*op.gradient_of];
  to.plan.ops.push_back(std::move(plan));
  to.originals.push_back(original.id);
  return to.graph.ops.push_back(std::move(op));
}

OpId AppendKept(const Op& op, OpPlan plan, bool inherits, Distributed& to) {
  Op copy = op;
  for (OpId& input : copy.inputs) input = to.values[input];
  copy.inherits = std::nullopt;
  if (inherits && op.inherits.has_value()) {
    copy.inherits = Inheritance{.op = to.values[op.inherits->op], .factors = op.inherits->factors};
  }
  return Append(std::move(copy), op, std::move(plan), to);
}

TensorType TypeIn(const Graph& graph, OpKind kind, const std::vector<OpId>& inputs, Attributes& attributes) {
  const OpDefinition& definition = DefinitionOf(kind);
  std::vector<TensorType> types;
  for (const OpId input : inputs) types.push_back(graph.op(input).type);
  const auto incomplete = CompleteAttributes(definition, inputs.size(), attributes);
  CLEAVE_CHECK(!incomplete.has_value()) << incomplete->message;
  const InferResult inferred = InferType(definition, types, attributes);
  CLEAVE_CHECK(std::holds_alternative<TensorType>(inferred)) << std::get<OpError>(inferred).message;
  return std::get<TensorType>(inferred);
}

}  // namespace cleave::ir
