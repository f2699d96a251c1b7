#include "ir/graph/roles.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace cleave::ir {

void CopyRoles(const Graph& from, const IdVector<OpId, OpId>& places, Graph& to) {
  to.model = from.model;
  to.file = from.file;
  to.hash = from.hash;
  to.rank_axes = from.rank_axes;
  to.sums = from.sums;
  if (from.loss.has_value()) to.loss = places[*from.loss];
  for (const Metric& metric : from.metrics) to.metrics.push_back({.name = metric.name, .value = places[metric.value]});
  for (const StateUpdate& update : from.updates) {
    to.updates.push_back({.state = places[update.state], .value = places[update.value]});
  }
  to.looks = from.looks;
  for (Look& look : to.looks) look.value = places[look.value];
}

void CopyRelations(const Op& from, const IdVector<OpId, OpId>& places, Op& to) {
  to.repetition = from.repetition;
  to.inherits = from.inherits;
  if (to.inherits.has_value()) to.inherits->op = places[to.inherits->op];
  to.gradient_of = from.gradient_of;
  if (to.gradient_of.has_value()) to.gradient_of = places[*to.gradient_of];
}

Graph OnlyOps(Graph all, const std::function<bool(OpId)>& stays, IdVector<OpId, OpId>& places) {
  Graph result;
  places = IdVector<OpId, OpId>(all.ops.size());
  for (Op& op : all.ops) {
    const OpId id = op.id;
    if (!stays(id)) continue;
    places[id] = op.id = OpId(static_cast<int64_t>(result.ops.size()));
    for (OpId& input : op.inputs) input = places[input];
    CopyRelations(op, places, op);
    result.ops.push_back(std::move(op));
  }
  CopyRoles(all, places, result);
  return result;
}

MetricSources MetricSourcesOf(const Graph& graph, OpId metric) {
  MetricSources sources;
  std::set<OpId, std::greater<>> open = {metric};
  while (!open.empty()) {
    const Op& op = graph.op(*open.begin());
    open.erase(open.begin());
    if (op.kind == OpKind::kInput) sources.inputs.push_back(op.id);
    if (op.kind == OpKind::kTotal) {
      sources.totals.push_back(op.id);
    } else {
      open.insert(op.inputs.begin(), op.inputs.end());
    }
  }
  std::reverse(sources.totals.begin(), sources.totals.end());
  std::reverse(sources.inputs.begin(), sources.inputs.end());
  return sources;
}

}  // namespace cleave::ir
