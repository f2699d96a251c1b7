#include "search/cost/time_prices.h"

#include <vector>

#include "ir/graph/ops/ops.h"
#include "search/cost/time.h"

namespace cleave::search {
namespace {

ir::TensorType LocalType(const ir::TensorType& type, const ir::Layout& layout, const ir::Mesh& mesh) {
  return {.dtype = type.dtype, .shape = ir::LargestLocalShape(layout, mesh, type.shape)};
}

double LocalSeconds(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh, ir::OpId id,
                    const ir::Strategy& strategy) {
  const ir::Op& op = facts.op(id);
  const ir::Rule& rule = facts.rule(id);
  std::vector<ir::TensorType> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ir::Layout layout = ir::InputLayout(strategy, rule, static_cast<int>(i));
    inputs.push_back(LocalType(facts.op(op.inputs[i]).type, layout, mesh));
  }
  const ir::TensorType output = LocalType(op.type, ir::OutputLayout(strategy, rule), mesh);
  return OpSeconds(cluster, ir::DefinitionOf(op), inputs, output, op.attributes).value();
}

}  // namespace

Prices TimePrices(const GraphFacts& facts, const Cluster& cluster, const ir::Mesh& mesh) {
  Prices prices;
  prices.redistribution = [&cluster, &mesh](const ir::TensorType& type, const ir::Layout& source,
                                            const ir::Redistribution& way) {
    return RedistributionSeconds(cluster, mesh, type, source, way).value();
  };
  prices.local = [&facts, &cluster, &mesh](ir::OpId op, const ir::Strategy& strategy) {
    return LocalSeconds(facts, cluster, mesh, op, strategy);
  };
  // Sources exist already, a reshaped tensor is the same bytes, and what is aside is no part of a training step.
  prices.local_kind = [&facts](ir::OpId id) {
    const ir::Op& op = facts.op(id);
    const bool is_free = op.inputs.empty() || ir::DefinitionOf(op).is_alias;
    return is_free || facts.roles[id] == Role::kAside ? 0 : 1;
  };
  prices.is_seconds = true;
  prices.may_leave_idle = true;
  if (cluster.links.empty()) return prices;
  const Link& slowest = cluster.links.front();
  for (const ir::Op& op : facts.graph->ops) {
    if (facts.roles[op.id] == Role::kAside) continue;
    prices.scale += slowest.latency.value() + static_cast<double>(op.type.bytes().value()) / slowest.bytes_per_second;
  }
  return prices;
}

}  // namespace cleave::search
