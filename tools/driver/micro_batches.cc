#include "tools/driver/micro_batches.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "tools/driver/element_limit.h"

namespace cleave::tools {
namespace {

Diagnostic Refusal(const UnderstoodModel& model, int64_t count, const std::string& why) {
  return Error(Code::kE0315, absl::StrCat("the batch cannot be taken in ", count, " micro-batches"))
      .At(model.module.pins.settings.micro_batches_span, why);
}

// The samples of a step.
int64_t BatchOf(const ir::Graph& graph) {
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kInput && op.type.rank() > 0) return op.type.shape[0];
  }
  return 1;
}

// An op whose parts would have to be combined over micro-batches otherwise than by adding up f32.
std::optional<ir::OpId> FindOtherSum(const ir::Graph& graph, const IdVector<ir::OpId, ir::BatchUse>& uses) {
  IdVector<ir::OpId, uint8_t> is_read_whole(graph.ops.size(), 0);
  if (graph.loss.has_value()) is_read_whole[*graph.loss] = 1;
  for (const ir::Metric& metric : graph.metrics) is_read_whole[metric.value] = 1;
  for (const ir::Op& op : graph.ops) {
    if (uses[op.id].kind != ir::BatchUse::Kind::kOnce) continue;
    for (const ir::OpId input : op.inputs) is_read_whole[input] = 1;
  }
  for (const ir::Op& op : graph.ops) {
    if (is_read_whole[op.id] == 0 || uses[op.id].kind == ir::BatchUse::Kind::kOnce) continue;
    const bool is_cut = uses[op.id].kind == ir::BatchUse::Kind::kEach;
    const ir::Rule rule = ir::RuleOf(graph, op);
    const bool adds = !is_cut || rule.factors[static_cast<size_t>(uses[op.id].index)].reduction == ir::Reduction::kSum;
    if (!adds || op.type.dtype != ir::DType::kF32) return op.id;
  }
  return std::nullopt;
}

bool CheckCount(const UnderstoodModel& model, int64_t count, const SourceSet& sources, Diagnostics& diagnostics) {
  const ir::Graph& graph = model.training_graph;
  if (count == 1) return true;
  if (graph.is_manual()) {
    diagnostics.Add(Refusal(model, count, "the model says itself what each rank computes, and when"));
    return false;
  }
  if (const int64_t batch = BatchOf(graph); count > batch) {
    diagnostics.Add(Refusal(model, count, absl::StrCat("a step has ", batch, " samples")));
    return false;
  }
  const ir::BatchUses uses = ir::FindBatchUses(graph);
  if (uses.obstacle.has_value()) {
    const ir::Op& op = graph.op(uses.obstacle->op);
    const ir::Op& reader = graph.op(uses.obstacle->reader);
    Diagnostic error = Refusal(model, count, "asked for here");
    const std::string what = op.id == reader.id
                                 ? absl::StrCat("`", op.name, "` relates all samples of a step to one another")
                                 : absl::StrCat("`", op.name, "` sums over all samples of a step, and `", reader.name,
                                                "` needs the sum for each of them");
    if (const std::optional<Span> line = LineOf(op, model.file, sources); line.has_value()) {
      error.labels.push_back({*line, what});
    } else {
      error.notes.push_back(what);
    }
    error.help.push_back("leave out `micro_batches`, or do without this op");
    diagnostics.Add(std::move(error));
    return false;
  }
  const absl::StatusOr<ir::Mesh> time = ir::WithTime(ir::Mesh(), count);
  for (const ir::Op& op : graph.ops) {
    const ir::Rule rule = ir::RuleOf(graph, op);
    const absl::StatusOr<ir::Strategy> strategy =
        ir::OverTime(ir::Strategy::Replicated(rule), uses.ops[op.id], ir::AxisId(0), rule, *time);
    if (strategy.ok()) continue;
    AddUnevenMicroBatches(model, count, absl::StrCat("`", op.name, "`: ", strategy.status().message()), diagnostics);
    return false;
  }
  if (const std::optional<ir::OpId> op = FindOtherSum(graph, uses.ops); op.has_value()) {
    AddUnevenMicroBatches(
        model, count,
        absl::StrCat("`", graph.op(*op).name, "` is put together from all samples, and not as a sum in f32"),
        diagnostics);
    return false;
  }
  if (!graph.looks.empty()) {
    diagnostics.Add(Refusal(
        model, count,
        absl::StrCat("`", graph.looks.front().name, "` is looked at, which is not possible in parts of a step")));
    return false;
  }
  return true;
}

}  // namespace

bool CheckMicroBatches(const UnderstoodModel& model, const SourceSet& sources, Diagnostics& diagnostics) {
  return CheckCount(model, model.module.pins.settings.micro_batches.value_or(1), sources, diagnostics);
}

bool CanTakeMicroBatches(const UnderstoodModel& model, const SourceSet& sources) {
  Diagnostics unsaid;
  return CheckCount(model, /*count=*/2, sources, unsaid);
}

void AddUnevenMicroBatches(const UnderstoodModel& model, int64_t count, const std::string& why,
                           Diagnostics& diagnostics) {
  Diagnostic error = Refusal(model, count, "asked for here");
  error.notes.push_back(why);
  error.help.push_back("choose a number that divides the samples of each rank");
  diagnostics.Add(std::move(error));
}

}  // namespace cleave::tools
