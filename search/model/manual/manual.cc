#include "search/model/manual/manual.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check/check.h"
#include "ir/graph/manual/manual.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/strategy/strategy.h"

namespace cleave::search {
namespace {

class ManualSettings {
 public:
  ManualSettings(ir::SearchAlgorithm algorithm, const ir::Pins& pins, Diagnostics& diagnostics)
      : algorithm_(algorithm), pins_(pins), diagnostics_(diagnostics) {}

  bool Check() && {
    const ir::ParallelSettings& settings = pins_.settings;
    if (algorithm_ != ir::SearchAlgorithm::kManual && settings.search_given) {
      Refuse("a search", settings.search_span, "leave it out, or write `search = manual`");
    }
    RefuseWritten("`zero`", settings.zero_span);
    RefuseWritten("`objective`", settings.objective_span);
    RefuseWritten("`cost`", settings.cost_span);
    RefuseWritten("`outside`", settings.outside_span);
    RefuseWritten("`recompute`", settings.recompute_span);
    RefuseWritten("`reduce`", settings.sums_span);
    if (settings.dataset_given) Refuse("`dataset`", {}, "every rank reads the whole batch and takes its part itself");
    for (const ir::Pin& pin : pins_.pins) {
      Refuse("a pin", pin.span, "say with `rank` what a rank computes, or leave out `#[manual]`");
    }
    if (!pins_.priorities.empty()) Refuse("`#[priority]`", {}, "leave it out");
    for (const ir::Region& region : pins_.regions) Refuse("a region", region.span, "leave it out");
    if (!pins_.stages.empty()) Refuse("`#[stage]`", pins_.stages.front().span, "leave it out");
    std::vector<Span> refused;  // An attribute may be about many ops.
    for (const ir::RetentionPin& retention : pins_.retentions) {
      if (std::find(refused.begin(), refused.end(), retention.span) != refused.end()) continue;
      refused.push_back(retention.span);
      Refuse(absl::StrCat("`", ir::RetentionName(retention.retention), "`"), retention.span, "leave it out");
    }
    return is_right_;
  }

 private:
  void RefuseWritten(const std::string& what, const Span& span) {
    if (span.is_somewhere()) Refuse(what, span, "leave it out");
  }

  void Refuse(const std::string& what, const Span& span, const std::string& help) {
    Diagnostic error = Error(Code::kE0708, "a manual model has no use for " + what);
    std::move(error).At(span, "tells a search what to do");
    error.notes.push_back("its ranks compute and communicate as the model says: nothing is searched");
    error.help.push_back(help);
    diagnostics_.Add(std::move(error));
    is_right_ = false;
  }

  const ir::SearchAlgorithm algorithm_;
  const ir::Pins& pins_;
  Diagnostics& diagnostics_;
  bool is_right_ = true;
};

}  // namespace

bool CheckManualSettings(const ir::Graph& graph, ir::SearchAlgorithm algorithm, const ir::Pins& pins,
                         Diagnostics& diagnostics) {
  if (graph.is_manual()) return ManualSettings(algorithm, pins, diagnostics).Check();
  if (algorithm != ir::SearchAlgorithm::kManual) return true;
  Diagnostic error = Error(Code::kE0711, "`search = manual` on a model for one device");
  std::move(error).At(pins.settings.search_span, "asked for here");
  error.help.push_back("write `#[manual]` before the model and say in it what each rank does, or use another search");
  diagnostics.Add(std::move(error));
  return false;
}

ir::Plan ManualPlan(const ir::Graph& graph, const ir::Mesh& mesh, const std::string& cluster) {
  CLEAVE_CHECK(ir::RankCount(graph.rank_axes) == mesh.rank_count())
      << "a model of " << ir::RankCount(graph.rank_axes) << " ranks on a mesh of " << mesh.rank_count();
  ir::Plan plan{.cluster = cluster, .mesh = mesh, .ops = {}, .search = {}};
  plan.search = {.algorithm = "manual", .objective = "none", .price = "none", .cost = 0, .lower_bound = {}};
  for (const ir::Op& op : graph.ops) {
    plan.ops.push_back({.strategy = ir::Strategy::Replicated(ir::RuleOf(graph, op)),
                        .output = std::nullopt,
                        .decided_by = ir::DecidedBy::kManual,
                        .reason = "the model contains its own communication",
                        .choices = {}});
  }
  return plan;
}

}  // namespace cleave::search
