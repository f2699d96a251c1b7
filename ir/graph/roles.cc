#include "ir/graph/roles.h"

namespace cleave::ir {

void CopyRoles(const Graph& from, const IdVector<OpId, OpId>& places, Graph& to) {
  to.model = from.model;
  to.file = from.file;
  to.hash = from.hash;
  to.rank_axes = from.rank_axes;
  if (from.loss.has_value()) to.loss = places[*from.loss];
  for (const Metric& metric : from.metrics) to.metrics.push_back({.name = metric.name, .value = places[metric.value]});
  for (const StateUpdate& update : from.updates) {
    to.updates.push_back({.state = places[update.state], .value = places[update.value]});
  }
  to.looks = from.looks;
  for (Look& look : to.looks) look.value = places[look.value];
}

}  // namespace cleave::ir
