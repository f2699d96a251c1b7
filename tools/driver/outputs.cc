#include "tools/driver/outputs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/roles.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/pins/move.h"
#include "tools/driver/watch.h"

namespace cleave::tools {
namespace {

bool IsValue(const ir::Op& op) {
  return op.phase == ir::Phase::kForward && ir::DefinitionOf(op).op_class != ir::OpClass::kSource;
}

// The value of a `let`, or of an op.
std::optional<ir::OpId> Named(const ir::Graph& graph, const std::string& name) {
  for (const ir::Look& look : graph.looks) {
    if (look.kind == ir::LookKind::kOutput && look.part == name) return look.value;
  }
  const std::optional<ir::OpId> op = graph.Find(name);
  return op.has_value() && IsValue(graph.op(*op)) ? op : std::nullopt;
}

// For each op whether it is one of these or read for one.
IdVector<ir::OpId, char> NeededFor(const std::vector<ir::OpId>& values, const ir::Graph& graph) {
  IdVector<ir::OpId, char> needed(graph.ops.size(), 0);
  for (const ir::OpId value : values) needed[value] = 1;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const ir::OpId id(static_cast<int64_t>(i));
    if (needed[id] == 0) continue;
    for (const ir::OpId input : graph.op(id).inputs) needed[input] = 1;
  }
  return needed;
}

// Removes the ops that are not needed for these. REQUIRES: whatever has a role is among them.
void KeepOnly(const std::vector<ir::OpId>& values, frontend::Module& module) {
  ir::Graph& graph = module.graph;
  const IdVector<ir::OpId, char> needed = NeededFor(values, graph);
  const auto stays = [&](ir::OpId op) { return needed[op] != 0; };
  IdVector<ir::OpId, ir::OpId> places;
  graph = ir::OnlyOps(std::move(graph), stays, places);
  ir::MovePins(stays, places, module.pins);
}

}  // namespace

void ForgetTraining(frontend::Module& module) {
  ir::Graph& graph = module.graph;
  const auto is_of_training = [](const ir::Look& look) {
    return look.kind != ir::LookKind::kOutput && !look.part.empty();
  };
  graph.looks.erase(std::remove_if(graph.looks.begin(), graph.looks.end(), is_of_training), graph.looks.end());
  graph.updates.clear();
  if (module.updates.loss_scale.has_value()) {
    const std::string& scale = module.updates.graph.op(*module.updates.loss_scale).name;
    const auto is_scale = [&](const ir::Metric& metric) { return graph.op(metric.value).name == scale; };
    graph.metrics.erase(std::remove_if(graph.metrics.begin(), graph.metrics.end(), is_scale), graph.metrics.end());
  }
  IdVector<ir::OpId, ir::OpId> instead;
  for (ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kParameter) op.attributes.Set(ir::attribute::kTrained, false);
    for (ir::OpId& input : op.inputs) input = instead[input];
    instead.push_back(op.kind == ir::OpKind::kDropout         ? op.inputs[0]
                      : op.kind == ir::OpKind::kWhileTraining ? op.inputs[1]
                                                              : op.id);
  }
  std::vector<ir::OpId> stay;
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kInput) stay.push_back(op.id);
  }
  if (graph.loss.has_value()) stay.push_back(*(graph.loss = instead[*graph.loss]));
  for (ir::Metric& metric : graph.metrics) stay.push_back(metric.value = instead[metric.value]);
  for (ir::Look& look : graph.looks) stay.push_back(look.value = instead[look.value]);
  KeepOnly(stay, module);
}

bool KeepOutputs(const std::vector<std::string>& names, frontend::Module& module, Diagnostics& diagnostics) {
  ir::Graph& graph = module.graph;
  const std::optional<int64_t> batch = ir::BatchOf(graph);
  std::vector<std::string> known;
  for (const ir::Op& op : graph.ops) {
    if (IsValue(op)) known.push_back(op.name);
  }
  std::vector<ir::OpId> outputs;
  std::vector<ir::Look> looks;
  for (const std::string& name : names) {
    const std::optional<ir::OpId> op = Named(graph, name);
    if (!op.has_value()) {
      diagnostics.Add(NothingMatches("--output", name, known));
      continue;
    }
    const ir::Shape& shape = graph.op(*op).type.shape;
    if (graph.is_manual() || shape.empty() || shape[0] != batch) {
      diagnostics.Add(
          Error(Code::kE0612, absl::StrCat("`--output ", name, "` has no row for each sample: it is ",
                                           graph.op(*op).type.ToString(), graph.is_manual() ? " of each rank" : "")));
      continue;
    }
    outputs.push_back(*op);
    looks.push_back({.kind = ir::LookKind::kOutput, .value = *op, .name = name});
  }
  if (outputs.size() < names.size()) return false;
  graph.looks = std::move(looks);
  graph.loss.reset();
  graph.metrics.clear();
  graph.updates.clear();
  if (module.updates.loss_scale.has_value()) {
    const std::string& scale = module.updates.graph.op(*module.updates.loss_scale).name;
    const auto is_scale = [&](const ir::Metric& metric) { return graph.op(metric.value).name == scale; };
    graph.metrics.erase(std::remove_if(graph.metrics.begin(), graph.metrics.end(), is_scale), graph.metrics.end());
  }
  KeepOnly(outputs, module);
  return true;
}

void KeepLooks(frontend::Module& module) {
  std::vector<ir::OpId> values;
  for (const ir::Look& look : module.graph.looks) values.push_back(look.value);
  KeepOnly(values, module);
}

}  // namespace cleave::tools
