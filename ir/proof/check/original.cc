#include "ir/proof/check/original.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status/status_macros.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/check/compare.h"
#include "ir/proof/check/conditioning.h"
#include "ir/proof/interpret/interpret.h"

namespace cleave::ir {
namespace {

bool WasReplaced(const Op& op, const Distributed& distributed) {
  const Op& now = distributed.graph.op(distributed.values[op.id]);
  if (now.kind != op.kind || now.inputs.size() != op.inputs.size()) return true;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (distributed.originals[now.inputs[i]] != op.inputs[i]) return true;
  }
  return false;
}

void TakeSizes(const std::vector<FactorList>& dimensions, const Shape& shape, Rule& rule) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].size() == 1) rule.factors[static_cast<size_t>(dimensions[d].front())].size = shape[d];
  }
}

// The attributes of a replaced op for the new types of its inputs and its value. Such an op reads no windows: its inner
// factors are those of whole rows.
Attributes ResizedAttributes(const Graph& graph, const Op& op, const Graph& resized, const TensorType& type) {
  const OpDefinition& definition = DefinitionOf(op);
  if (definition.resize == nullptr) return op.attributes;
  Rule rule = RuleOf(graph, op);
  for (size_t i = 0; i < op.inputs.size(); ++i) TakeSizes(rule.inputs[i], resized.op(op.inputs[i]).type.shape, rule);
  TakeSizes(rule.output, type.shape, rule);
  return definition.resize(op.attributes, rule);
}

// The type of an op whose value exists by rows only: that of its table, of which its gradient and what is computed of
// this have the shape.
TensorType TypeByRows(const Graph& graph, const Op& op, const Graph& resized) {
  if (op.gradient_of.has_value()) return resized.op(*op.gradient_of).type;
  const auto table =
      std::find_if(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return graph.op(input).type == op.type; });
  return resized.op(*table).type;
}

// The attributes of the op in the distributed graph, which may make its value in a wider type.
Attributes WithTypesOf(const Op& op, Attributes attributes) {
  for (const auto& key : {attribute::kResult, attribute::kDType}) {
    if (op.attributes.Has(key)) {
      attributes.Set(key, op.attributes.Get(key));
    } else {
      attributes.Erase(key);
    }
  }
  return attributes;
}

Graph WithSizesOf(const Graph& graph, const Distributed& distributed, const Graph& shrunk) {
  Graph resized = graph;
  for (Op& op : resized.ops) {
    if (distributed.by_rows[op.id]) {
      op.type = TypeByRows(graph, graph.op(op.id), resized);
      op.attributes = ResizedAttributes(graph, graph.op(op.id), resized, op.type);
      continue;
    }
    const Op& own = graph.op(op.id);
    if (distributed.in_slices[op.id]) {
      const InferResult type = InferType(DefinitionOf(op), InputTypes(resized, op), op.attributes);
      if (const auto* inferred = std::get_if<TensorType>(&type)) op.type = *inferred;
      continue;
    }
    const Op& model = shrunk.op(distributed.values[op.id]);
    op.attributes = WasReplaced(own, distributed) ? ResizedAttributes(graph, own, resized, model.type)
                                                  : WithTypesOf(own, model.attributes);
    op.type = {.dtype = own.type.dtype, .shape = model.type.shape};
  }
  return resized;
}

// What differs on one draw; empty where only values differ that depend on rounding.
std::string FindDifference(const Graph& original, const Distributed& distributed, const Graph& shrunk, uint64_t seed) {
  constexpr int64_t kStep = 3;  // Past the first, so that step-dependent scalars differ from their starts.
  const SourceValues sources = RandomSources(shrunk, seed);
  SourceValues original_sources;
  for (const Op& op : original.ops) {
    const auto source = sources.find(distributed.values[op.id]);
    if (source != sources.end()) original_sources[op.id] = source->second;
  }
  const IdVector<OpId, Tensor> expected = InterpretGraph(original, original_sources, kStep);
  const IdVector<OpId, Tensor> actual = InterpretGraph(shrunk, sources, kStep);
  IdVector<OpId, char> hangs;
  for (const Op& op : original.ops) {
    // Compared in what is made of it: new values of table and states, the loss and whole gradients.
    if (distributed.by_rows[op.id] || distributed.in_slices[op.id]) continue;
    const Difference difference =
        LargestDifference(expected[op.id], expected[op.id], actual[distributed.values[op.id]]);
    if (difference.relative <= kTolerance) continue;
    if (hangs.empty()) hangs = HangOnRounding(original, original_sources, kStep);
    if (hangs[op.id]) continue;
    return absl::StrCat("the distributed form of `", op.name, "` (line ", op.line, ") is wrong: element ",
                        difference.element, " is ", actual[distributed.values[op.id]].values[difference.element], ", `",
                        OpKindName(op.kind), "` gives ", expected[op.id].values[difference.element]);
  }
  return "";
}

}  // namespace

absl::Status CompareWithOriginal(const Graph& graph, const Distributed& distributed, const Graph& shrunk) {
  const Graph original = WithSizesOf(graph, distributed, shrunk);
  if (const std::vector<std::string> errors = VerifyGraph(original); !errors.empty()) {
    return absl::InternalError(absl::StrCat("the shrunk original graph is not sound: ", absl::StrJoin(errors, "; ")));
  }
  constexpr uint64_t kDraws = 3;
  std::string first;
  for (uint64_t draw = 1; draw <= kDraws; ++draw) {
    std::string difference = FindDifference(original, distributed, shrunk, draw);
    if (difference.empty()) return absl::OkStatus();
    if (first.empty()) first = std::move(difference);
  }
  return absl::InternalError(first);
}

}  // namespace cleave::ir
