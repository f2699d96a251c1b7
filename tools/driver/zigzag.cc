#include "tools/driver/zigzag.h"

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/transforms/zigzag/zigzag.h"

namespace cleave::tools {
namespace {

void Explain(const ir::Graph& graph, const std::string& text, ir::Plan& plan) {
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::OpKind::kAttention && ir::GainsByZigzag(op))
      absl::StrAppend(&plan.ops[op.id].reason, "; ", text);
  }
}

}  // namespace

bool CheckZigzag(const UnderstoodModel& model, Diagnostics& diagnostics) {
  const ir::ParallelSettings& settings = model.module.pins.settings;
  const std::optional<std::string> why = ir::WhyNoZigzag(model.module.graph, *settings.zigzag);
  if (!why.has_value()) return true;
  diagnostics.Add(Error(Code::kE0508, absl::StrCat("`zigzag = ", *settings.zigzag, "` is not possible: ", *why))
                      .At(settings.zigzag_span, "is asked for here")
                      .Help("`zigzag = auto`"));
  return false;
}

int64_t PairsWorthTrying(const UnderstoodModel& model, const std::string& target, ir::Plan& plan) {
  const ir::ParallelSettings& settings = model.module.pins.settings;
  if (settings.zigzag.has_value() || model.module.training.mode != ir::Mode::kTrain) return 0;
  if (settings.objective == ir::Objective::kMemory) return 0;
  if (!ir::RingAttention(plan).empty()) {
    Explain(model.training_graph, "rows in their own order, in which keys go round", plan);
    return 0;
  }
  const int64_t pairs = ir::RowPieces(model.training_graph, plan);
  if (pairs == 1) return 0;
  std::optional<std::string> why = ir::WhyNoZigzag(model.module.graph, pairs);
  const ir::Precision precision = model.module.training.precision;
  const bool is_16_bits = precision != ir::Precision::kF32 && precision != ir::Precision::kTf32;
  if (target == "cuda" && is_16_bits) why = "cuDNN, which is faster than the kernels that know zigzag order, does not";
  if (why.has_value()) {
    Explain(model.training_graph, absl::StrCat("rows in their own order: ", *why), plan);
    return 0;
  }
  return pairs;
}

void TakeZigzag(const ir::Graph& graph, int64_t pairs, const std::string& why, ir::Plan& plan) {
  plan.zigzag = pairs;
  Explain(graph, absl::StrCat("rows in ", pairs, " zigzag pairs, which are equal work behind the causal mask: ", why),
          plan);
}

void KeepOwnOrder(const ir::Graph& graph, int64_t pairs, const std::string& why, ir::Plan& plan) {
  Explain(graph, absl::StrCat("rows in their own order and not in ", pairs, " zigzag pairs: ", why), plan);
}

std::string InPlaceOf(Seconds taken, Seconds other) {
  return absl::StrCat("a step takes ", FormatSeconds(taken), " in place of ", FormatSeconds(other));
}

std::string WhyOwnOrder(Seconds own, std::optional<Seconds> zigzag) {
  return zigzag.has_value() ? InPlaceOf(own, *zigzag) : "no such plan fits";
}

}  // namespace cleave::tools
