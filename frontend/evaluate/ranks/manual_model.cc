#include "frontend/evaluate/ranks/manual_model.h"

#include "absl/strings/str_cat.h"
#include "frontend/attributes/attributes.h"

namespace cleave::frontend {

std::optional<Value> RankName(const std::string& name, Span span, const ManualModel& model, const ir::Graph& graph,
                              Reporter& reporter) {
  if (name != "world" && name != "rank") return std::nullopt;
  if (!graph.is_manual()) {
    ReportNotManual(absl::StrCat("`", name, "`"), span, "has a value only in a `#[manual]` model", model, reporter);
    return Value{Poison()};
  }
  const int64_t world = ir::RankCount(graph.rank_axes);
  if (name == "world") return Value{world};
  std::vector<Value> ranks;
  for (int64_t rank = 0; rank < world; ++rank) ranks.emplace_back().kind = rank;
  return PerRank(std::move(ranks));
}

void ReportNotManual(const std::string& what, Span span, std::string label, const ManualModel& model,
                     Reporter& reporter) {
  if (model.attribute) {
    reporter.Report(Error(Code::kE0707, absl::StrCat(what, " where the number of ranks is not known yet"))
                        .At(span, "arguments of the model and `parallel` say how many ranks there are"));
    return;
  }
  Diagnostic error = Error(Code::kE0707, absl::StrCat(what, " outside a manual model")).At(span, std::move(label));
  if (model.name) {
    error.labels.push_back({*model.name, "the model is for one device"});
    error.help.push_back("write `#[manual]` above the model");
  }
  reporter.Report(std::move(error));
}

bool TakeLocal(std::vector<dsl::syntax::Attribute>& attributes, const ManualModel& model, Reporter& reporter) {
  const std::optional<dsl::syntax::Attribute> local = TakeAttribute("local", attributes, reporter);
  if (!local.has_value()) return false;
  if (!model.attribute) {
    ReportNotManual("`#[local]`", local->span, "ranks have parameters of their own in manual models", model, reporter);
  }
  if (local->has_parentheses) {
    reporter.Report(Error(Code::kE0303, "`local` takes no arguments").At(local->span, "write `#[local]`"));
  }
  return true;
}

}  // namespace cleave::frontend
