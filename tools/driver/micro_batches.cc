#include "tools/driver/micro_batches.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/transforms/distribute/distribute.h"
#include "tools/driver/element_limit.h"

namespace cleave::tools {
namespace {

Diagnostic Refused(const UnderstoodModel& model, int64_t count, const std::string& why) {
  return Error(Code::kE0315, absl::StrCat("the batch cannot be taken in ", count, " micro-batches"))
      .At(model.module.pins.settings.micro_batches_span, why);
}

Diagnostic Refused(const UnderstoodModel& model, int64_t count, const ir::MicroBatchRefusal& refusal, const ir::Op& op,
                   const SourceSet& sources) {
  Diagnostic error = Refused(model, count, "asked for here");
  if (const std::optional<Span> line = LineOf(op, model.file, sources); line.has_value()) {
    error.labels.push_back({*line, refusal.why});
  } else {
    error.notes.push_back(refusal.why);
  }
  if (refusal.largest > 1) {
    error.help.push_back(absl::StrCat("micro_batches = ", refusal.largest));
  } else {
    error.notes.push_back("the batch of a model with this op cannot be cut");
    error.help.push_back("leave out `micro_batches`, or do without this op");
  }
  return error;
}

ir::Plan PlanOfOneDevice(const ir::Graph& graph, int64_t micro_batches) {
  ir::Plan plan;
  plan.micro_batches = micro_batches;
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back({.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op)), .output = std::nullopt});
  }
  return plan;
}

}  // namespace

bool CheckMicroBatches(const UnderstoodModel& model, const SourceSet& sources, Diagnostics& diagnostics) {
  const ir::Graph& graph = model.training_graph;
  const int64_t count = model.module.pins.settings.micro_batches.value_or(1);
  if (count == 1) return true;
  if (graph.is_manual()) {
    Diagnostic error = Refused(model, count, "the model says itself what each rank computes, and when");
    error.help.push_back("leave out `micro_batches`");
    diagnostics.Add(std::move(error));
    return false;
  }
  const std::optional<ir::MicroBatchRefusal> refusal = ir::FindRefusal(graph, PlanOfOneDevice(graph, count));
  if (!refusal.has_value()) return true;
  diagnostics.Add(Refused(model, count, *refusal, graph.op(refusal->op), sources));
  return false;
}

bool CanTakeMicroBatches(const UnderstoodModel& model) {
  const ir::Graph& graph = model.training_graph;
  return !graph.is_manual() && !ir::FindRefusal(graph, PlanOfOneDevice(graph, /*micro_batches=*/2)).has_value();
}

bool CheckMicroBatches(const UnderstoodModel& model, const ir::Plan& plan, const SourceSet& sources,
                       Diagnostics& diagnostics) {
  if (plan.micro_batches == 1) return true;
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(model.training_graph, plan);
  if (!distributed.ok()) return true;  // Making the program says why.
  const std::optional<ir::MicroBatchRefusal> refusal = ir::FindRefusal(distributed->graph, distributed->plan);
  if (!refusal.has_value()) return true;
  diagnostics.Add(Refused(model, plan.micro_batches, *refusal, distributed->graph.op(refusal->op), sources));
  return false;
}

}  // namespace cleave::tools
