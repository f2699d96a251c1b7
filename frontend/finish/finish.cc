#include "frontend/finish/finish.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/roles.h"

namespace cleave::frontend {
namespace {

// Bytes, because a vector of bools has no references.
using Marks = IdVector<ir::OpId, char>;

// Marks everything that the marked ops read, in one pass through the graph from its end.
void Close(const ir::Graph& graph, Marks& marked) {
  for (int i = static_cast<int>(graph.ops.size()) - 1; i >= 0; --i) {
    if (!marked[ir::OpId(i)]) continue;
    for (ir::OpId input : graph.op(ir::OpId(i)).inputs) marked[input] = true;
  }
}

bool IsState(const ir::Op& op) {
  return op.kind == ir::OpKind::kParameter && !op.attributes.Get(ir::attribute::kTrained);
}

// The value of that name, or the part of the value whose name stands before the last dot; nullopt where there is none.
std::optional<ir::Look> Named(const ir::Graph& graph, const LookByName& look) {
  if (const std::optional<ir::OpId> op = graph.Find(look.name)) {
    return ir::Look{.kind = look.kind, .value = *op, .name = "", .line = look.line};
  }
  const size_t dot = look.name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::optional<ir::OpId> op = graph.Find(look.name.substr(0, dot));
  if (!op.has_value()) return std::nullopt;
  return ir::Look{.kind = look.kind, .value = *op, .name = "", .line = look.line, .part = look.name.substr(dot + 1)};
}

// Puts the looks by name among the others.
void FindLooksByName(Expansion& expansion, Reporter& reporter) {
  std::vector<ir::Look>& looks = expansion.graph.looks;
  size_t found = 0;
  for (const LookByName& by_name : expansion.looks_by_name) {
    if (std::optional<ir::Look> look = Named(expansion.graph, by_name)) {
      looks.insert(looks.begin() + static_cast<std::ptrdiff_t>(by_name.place + found), *std::move(look));
      ++found;
      continue;
    }
    Diagnostic error = Error(Code::kE0611, absl::StrCat("no value is called `", by_name.name, "`"))
                           .At(by_name.span, "names no value of the model");
    std::vector<std::string> names;
    for (const ir::Op& op : expansion.graph.ops) names.push_back(op.name);
    if (const auto nearest = NearestName(by_name.name, names)) {
      error.help.push_back(absl::StrCat("did you mean `", *nearest, "`?"));
    }
    error.help.push_back("`--emit graph` shows the names of all values");
    reporter.Report(std::move(error));
  }
}

// An attribute that lets values of metrics alone not be kept: the backward pass reads none of them.
void RefuseRetentionsOfMetrics(const Expansion& expansion, const Marks& forward, const Marks& kept,
                               Reporter& reporter) {
  std::vector<Span> refused;
  for (const ir::RetentionPin& retention : expansion.retentions) {
    if (retention.retention == ir::Retention::kKeep || !kept[retention.op] || forward[retention.op]) continue;
    if (std::find(refused.begin(), refused.end(), retention.span) != refused.end()) continue;
    const bool has_effect =
        std::any_of(expansion.retentions.begin(), expansion.retentions.end(),
                    [&](const ir::RetentionPin& other) { return other.span == retention.span && forward[other.op]; });
    if (has_effect) continue;
    refused.push_back(retention.span);
    reporter.Report(
        Error(Code::kE0305, absl::StrCat("`", ir::RetentionName(retention.retention), "` on `",
                                         expansion.graph.op(retention.op).name, "`, which only metrics need"))
            .At(retention.span, "applies to values that the backward pass reads"));
  }
}

}  // namespace

Expansion Tidy(Expansion expansion, Reporter& reporter) {
  FindLooksByName(expansion, reporter);
  const ir::Graph& graph = expansion.graph;
  Marks trained(graph.ops.size(), false);
  if (graph.loss) trained[*graph.loss] = true;
  Close(graph, trained);
  Marks forward = trained;
  for (const ir::Look& look : graph.looks) forward[look.value] = true;
  for (const ir::Pin& pin : expansion.pins) {
    if (expansion.default_pins.count(pin.op) == 0) forward[pin.op] = true;
  }
  Close(graph, forward);
  Marks of_metrics = forward;
  for (const ir::Metric& metric : graph.metrics) of_metrics[metric.value] = true;
  Close(graph, of_metrics);
  Marks of_updates = forward;
  for (const ir::StateUpdate& update : graph.updates) of_updates[update.value] = of_updates[update.state] = true;
  Close(graph, of_updates);
  Marks late(graph.ops.size(), false);  // Ops of updates that run at the end of the step.
  const auto reads_state = [&](const ir::Op& op) {
    return std::any_of(op.inputs.begin(), op.inputs.end(),
                       [&](ir::OpId input) { return late[input] || IsState(graph.op(input)); });
  };
  Marks kept = of_metrics;
  for (const ir::Op& op : graph.ops) {
    kept[op.id] = of_metrics[op.id] || of_updates[op.id] || op.kind == ir::OpKind::kInput;
    // What an update needs of the step is there before the state changes, whether or not metrics are computed.
    if (of_updates[op.id] && (of_metrics[op.id] || !reads_state(op))) forward[op.id] = true;
    late[op.id] = of_updates[op.id] && !forward[op.id];
  }
  RefuseRetentionsOfMetrics(expansion, forward, kept, reporter);

  for (const auto& [id, span] : expansion.parameters) {
    // One that nothing reads gets its warning where it is defined.
    if (trained[id] || !kept[id] || IsState(graph.op(id))) continue;
    reporter.Report(Warning(Code::kW0613, absl::StrCat("parameter `", graph.op(id).name, "` is not trained"))
                        .At(span, "the loss does not depend on it"));
  }

  Expansion result;
  IdVector<ir::OpId, ir::OpId> moved;
  result.graph = ir::OnlyOps(
      graph, [&](ir::OpId op) { return kept[op]; }, moved);
  for (const ir::Op& op : graph.ops) {
    if (!kept[op.id]) continue;
    const bool is_source = ir::DefinitionOf(op).op_class == ir::OpClass::kSource;
    result.graph.ops[moved[op.id]].phase = forward[op.id] || is_source ? ir::Phase::kForward
                                           : late[op.id]               ? ir::Phase::kUpdate
                                                                       : ir::Phase::kMetric;
  }
  for (ir::Look& look : result.graph.looks) look.name = result.graph.op(look.value).name;
  for (ir::Pin& pin : expansion.pins) {
    if (!kept[pin.op]) continue;
    pin.op = moved[pin.op];
    result.pins.push_back(std::move(pin));
  }
  for (const ir::Priority& priority : expansion.priorities) {
    if (kept[priority.op]) result.priorities.push_back({moved[priority.op], priority.value});
  }
  for (const ir::RetentionPin& retention : expansion.retentions) {
    // The backward pass reads nothing that only metrics need.
    if (!forward[retention.op]) continue;
    result.retentions.push_back({moved[retention.op], retention.retention, retention.span});
  }
  for (const ir::StagePin& pin : expansion.stages) {
    if (forward[pin.op]) result.stages.push_back({moved[pin.op], pin.stage, pin.span});
  }
  for (ir::Region& region : expansion.regions) {
    std::vector<ir::OpId> ops;
    for (ir::OpId op : region.ops) {
      if (kept[op]) ops.push_back(moved[op]);
    }
    region.ops = std::move(ops);
    if (!region.ops.empty()) result.regions.push_back(std::move(region));
  }
  for (Trainer& trainer : expansion.trainers) {
    trainer.loss = moved[trainer.loss];
    result.trainers.push_back(std::move(trainer));
  }
  for (const auto& [id, span] : expansion.inputs) result.inputs[moved[id]] = span;
  for (const auto& [id, span] : expansion.parameters) {
    if (kept[id]) result.parameters[moved[id]] = span;
  }
  result.npy_places = std::move(expansion.npy_places);
  for (const auto& [id, call] : expansion.custom_calls) {
    if (kept[id]) result.custom_calls[moved[id]] = call;
  }
  return result;
}

}  // namespace cleave::frontend
