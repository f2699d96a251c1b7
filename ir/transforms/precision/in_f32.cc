// The way back from a graph in 16 bits.

#include <map>
#include <string>
#include <utility>

#include "ir/graph/ops/builder.h"
#include "ir/graph/roles.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

bool Casts16Bit(const Graph& graph, const Op& op) {
  return op.kind == OpKind::kCast && (Is16Bit(op.type.dtype) || Is16Bit(graph.op(op.inputs[0]).type.dtype));
}

}  // namespace

Graph InF32(const Graph& graph) {
  GraphBuilder builder;
  IdVector<OpId, OpId> places(graph.ops.size());
  for (const Op& op : graph.ops) {
    if (Casts16Bit(graph, op)) {
      places[op.id] = places[op.inputs[0]];
      continue;
    }
    std::vector<OpId> inputs;
    for (OpId input : op.inputs) inputs.push_back(places[input]);
    Attributes attributes = op.attributes;
    attributes.Erase(attribute::kResult);
    builder.SetPhase(op.phase);
    builder.SetLine(op.line);
    places[op.id] = builder.Add(op.kind, std::move(inputs), std::move(attributes), op.name);
    CopyRelations(op, places, builder.mutable_graph().ops[places[op.id]]);
  }
  Graph result = std::move(builder).Build();
  CopyRoles(graph, places, result);
  return result;
}

}  // namespace cleave::ir
