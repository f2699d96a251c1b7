#include "tools/driver/micro_batches.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/transforms/distribute/distribute.h"
#include "tools/driver/element_limit.h"

namespace cleave::tools {
namespace {

// `graph`: the one in which the refusal was found.
Diagnostic Refused(const UnderstoodModel& model, int64_t count, const ir::MicroBatchRefusal& refusal,
                   const ir::Graph& graph, const SourceSet& sources) {
  const std::string message = absl::StrCat("the batch cannot be taken in ", count, " micro-batches");
  const Span& setting = model.module.pins.settings.micro_batches_span;
  if (!refusal.op.has_value()) {
    Diagnostic error = Error(Code::kE0315, message).At(setting, refusal.why);
    error.help.push_back("leave out `micro_batches`");
    return error;
  }
  Diagnostic error = Error(Code::kE0315, message).At(setting, "asked for here");
  const std::optional<Span> line = LineOf(graph.op(*refusal.op), model.file, sources);
  if (line.has_value()) {
    error.labels.push_back({*line, refusal.why});
  } else {
    error.notes.push_back(refusal.why);
  }
  if (graph.op(*refusal.op).kind == ir::OpKind::kReduceMaxAbs) {
    error.notes.push_back("with `precision = fp8` tensors have a unit for each micro-batch, which all ranks share");
  }
  if (refusal.largest > 1) {
    error.help.push_back(absl::StrCat("micro_batches = ", refusal.largest));
  } else {
    error.notes.push_back("the batch of a model with this op cannot be cut");
    error.help.push_back("leave out `micro_batches`, or do without this op");
  }
  return error;
}

}  // namespace

bool CheckMicroBatches(const UnderstoodModel& model, const SourceSet& sources, Diagnostics& diagnostics) {
  const ir::Graph& graph = model.training_graph;
  const int64_t count = model.module.pins.settings.micro_batches.value_or(1);
  const std::optional<ir::MicroBatchRefusal> refusal = ir::FindRefusal(graph, count);
  if (!refusal.has_value()) return true;
  diagnostics.Add(Refused(model, count, *refusal, graph, sources));
  return false;
}

bool CheckMicroBatches(const UnderstoodModel& model, const ir::Plan& plan, const SourceSet& sources,
                       Diagnostics& diagnostics) {
  if (plan.micro_batches == 1) return true;
  const absl::StatusOr<ir::Distributed> distributed = ir::Distribute(model.training_graph, plan);
  if (!distributed.ok()) return true;  // Making the program says why.
  const std::optional<ir::MicroBatchRefusal> refusal = ir::FindRefusal(distributed->graph, distributed->plan);
  if (!refusal.has_value()) return true;
  diagnostics.Add(Refused(model, plan.micro_batches, *refusal, distributed->graph, sources));
  return false;
}

}  // namespace cleave::tools
