#include "frontend/evaluate/pins/retentions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"

namespace cleave::frontend {
namespace {

// `ops`, with those that `batched` has put in the place of removed ones.
std::vector<ir::OpId> Moved(const std::vector<ir::OpId>& ops, const std::set<ir::OpId>& removed,
                            const ir::Vectorized& batched, const ir::Graph& graph) {
  std::vector<ir::OpId> moved;
  for (const ir::OpId op : ops) {
    if (removed.count(op) == 0) {
      moved.push_back(op);
      continue;
    }
    const std::vector<ir::OpId> made = ComputedFor(op, batched, graph);
    moved.insert(moved.end(), made.begin(), made.end());
  }
  return moved;
}

}  // namespace

std::vector<ir::OpId> ComputedFor(ir::OpId removed, const ir::Vectorized& batched, const ir::Graph& graph) {
  std::vector<ir::OpId> computed;
  for (const ir::OpId made : batched.at(removed).made) {
    if (ir::DefinitionOf(graph.op(made)).op_class != ir::OpClass::kSource) computed.push_back(made);
  }
  return computed;
}

void Retentions::MoveToBatched(const std::vector<ir::Op>& removed, const ir::Vectorized& batched,
                               const ir::Graph& graph) {
  std::set<ir::OpId> ids;
  for (const ir::Op& op : removed) ids.insert(op.id);
  for (Retention& retention : recorded_) {
    retention.ops = Moved(retention.ops, ids, batched, graph);
    retention.left_open = Moved(retention.left_open, ids, batched, graph);
  }
}

std::vector<ir::RetentionPin> Retentions::Resolve(const ir::Graph& graph, Reporter& reporter) const {
  std::map<ir::OpId, const Retention*> innermost;
  std::vector<std::pair<Span, Span>> contradictions;
  for (const Retention& retention : recorded_) {
    const bool is_kept = retention.retention == ir::Retention::kKeep;
    if (!is_kept && graph.loss.has_value() && retention.ops == std::vector{*graph.loss}) {
      reporter.Report(Error(Code::kE0305, absl::StrCat("`", ir::RetentionName(retention.retention), "` on the loss `",
                                                       graph.op(*graph.loss).name, "`"))
                          .At(retention.span, "applies to values that the backward pass reads")
                          .Note("it begins with the gradient of the loss, and reads what the loss is made from"));
    }
    for (const ir::OpId op : retention.ops) {
      const Retention*& other = innermost[op];
      if (other == nullptr || retention.reach() < other->reach()) {
        other = &retention;
        continue;
      }
      if (retention.reach() > other->reach() || retention.retention == other->retention) continue;
      const std::pair<Span, Span> places(other->span, retention.span);
      if (std::find(contradictions.begin(), contradictions.end(), places) != contradictions.end()) continue;
      contradictions.push_back(places);
      const std::pair names(ir::RetentionName(other->retention), ir::RetentionName(retention.retention));
      reporter.Report(Error(Code::kE0307, absl::StrCat("`", std::min(names.first, names.second), "` and `",
                                                       std::max(names.first, names.second), "` on `", graph.op(op).name,
                                                       "` contradict each other"))
                          .At(retention.span, "the second")
                          .At(other->span, "the first")
                          .Help("remove one of them"));
    }
  }
  std::vector<ir::RetentionPin> pins;
  for (const auto& [op, retention] : innermost) pins.push_back({op, retention->retention, retention->span});
  return pins;
}

}  // namespace cleave::frontend
