#include "ir/proof/interpret/interpret_ranks.h"

#include "base/check/check.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/ops.h"
#include "ir/proof/interpret/communicate.h"

namespace cleave::ir {
namespace {

TensorOnRanks SourceOnRanks(const Op& op, const RankSources& sources, size_t ranks) {
  const auto source = sources.find(op.id);
  CLEAVE_CHECK(source != sources.end()) << "no value for source `" << op.name << "`";
  CLEAVE_CHECK(source->second.size() == ranks) << "source `" << op.name << "` on " << source->second.size() << " ranks";
  for (const Tensor& tensor : source->second) {
    CLEAVE_CHECK(tensor.shape == op.type.shape) << "wrong shape of source `" << op.name << "`";
  }
  return source->second;
}

}  // namespace

IdVector<OpId, TensorOnRanks> InterpretRanks(const Graph& graph, const RankSources& sources, int64_t step,
                                             const Bodies& bodies) {
  CLEAVE_CHECK(graph.is_manual());
  const size_t ranks = static_cast<size_t>(RankCount(graph.rank_axes));
  IdVector<OpId, TensorOnRanks> values(graph.ops.size());
  for (const Op& op : graph.ops) {
    const OpDefinition& definition = DefinitionOf(op);
    if (definition.rank_use == RankUse::kOthers) {
      values[op.id] = Communicate(graph.rank_axes, op, values[op.inputs[0]]);
      continue;
    }
    if (definition.evaluate == nullptr) {
      values[op.id] = SourceOnRanks(op, sources, ranks);
      continue;
    }
    const auto body = bodies.find(op.kind);
    const std::vector<FactorRange> ranges = WholeRanges(RuleOf(graph, op));
    values[op.id].assign(ranks, Zeros(op.type.shape));
    for (size_t rank = 0; rank < ranks; ++rank) {
      std::vector<const Tensor*> inputs;
      for (OpId input : op.inputs) inputs.push_back(&values[input][rank]);
      if (body != bodies.end()) {
        body->second(op, inputs, values[op.id][rank]);
        continue;
      }
      definition.evaluate(Evaluation{.attributes = op.attributes,
                                     .inputs = inputs,
                                     .ranges = ranges,
                                     .output = values[op.id][rank],
                                     .step = step,
                                     .rank = static_cast<int>(rank)});
    }
  }
  return values;
}

}  // namespace cleave::ir
