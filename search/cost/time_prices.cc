#include "search/cost/time_prices.h"

#include <vector>

#include "ir/graph/ops/ops.h"
#include "search/cost/time.h"

namespace cleave {
namespace {

TensorType LocalType(const TensorType& type, const Layout& layout, const Mesh& mesh) {
  return {.dtype = type.dtype, .shape = LargestLocalShape(layout, mesh, type.shape)};
}

double LocalSeconds(const GraphFacts& facts, const Cluster& cluster, const Mesh& mesh, OpId id,
                    const Strategy& strategy) {
  const Op& op = facts.op(id);
  const Rule& rule = facts.rule(id);
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Layout layout = InputLayout(strategy, rule, static_cast<int>(i));
    inputs.push_back(LocalType(facts.op(op.inputs[i]).type, layout, mesh));
  }
  const TensorType output = LocalType(op.type, OutputLayout(strategy, rule), mesh);
  return OpSeconds(cluster, DefinitionOf(op), inputs, output, op.attributes).value();
}

}  // namespace

Prices TimePrices(const GraphFacts& facts, const Cluster& cluster, const Mesh& mesh) {
  Prices prices;
  prices.redistribution = [&cluster, &mesh](const TensorType& type, const Layout& source, const Redistribution& way) {
    return RedistributionSeconds(cluster, mesh, type, source, way).value();
  };
  prices.local = [&facts, &cluster, &mesh](OpId op, const Strategy& strategy) {
    return LocalSeconds(facts, cluster, mesh, op, strategy);
  };
  // Sources are there already, a reshaped tensor is the same bytes, and metrics run at logged steps only.
  prices.local_kind = [&facts](OpId id) {
    const Op& op = facts.op(id);
    const bool is_free = op.inputs.empty() || DefinitionOf(op).is_alias;
    return is_free || op.phase == Phase::kMetric ? 0 : 1;
  };
  prices.is_seconds = true;
  prices.may_leave_idle = true;
  if (cluster.links.empty()) return prices;
  const Link& slowest = cluster.links.front();
  for (const Op& op : facts.graph->ops) {
    prices.scale += slowest.latency.value() + static_cast<double>(op.type.bytes().value()) / slowest.bytes_per_second;
  }
  return prices;
}

}  // namespace cleave
