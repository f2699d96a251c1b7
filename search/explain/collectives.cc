#include "search/explain/collectives.h"

#include <map>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/layer_names/layer_names.h"
#include "base/units/units.h"
#include "search/explain/table.h"

namespace cleave::search {
namespace {

struct CollectiveRow {
  const ir::Step* first = nullptr;
  int count = 0;
  double sent = 0;
};

// Metrics are not part of a training step.
const ir::Collective* TrainingCollective(const ir::Program& program, const ir::Step& step) {
  return step.phase == ir::Phase::kMetric ? nullptr : ir::CommunicationOf(program, step);
}

std::string CollectiveText(const ir::Program& program, const CollectiveRow& row, double total) {
  const ir::Collective& collective = std::get<ir::Collective>(row.first->action);
  const std::string head =
      absl::StrFormat("%-18s%-9s%-11s%5d%11s%8s%6d  ", ir::CollectiveKindName(collective.kind),
                      ir::PhaseName(row.first->phase), Clipped(AxesText(collective.axes, program.mesh), 10), row.count,
                      FormatBytes(Bytes(static_cast<int64_t>(row.sent))), Share(row.sent, total), row.first->line);
  return absl::StrCat(
      head, Clipped(row.count > 1 ? FoldedText(collective.why) : collective.why, kColumns - head.size()), "\n");
}

}  // namespace

std::string CollectiveTable(const ir::Program& program, const std::function<bool(const ir::Collective&)>& wanted) {
  double total = 0;
  std::map<std::string, size_t> row_of;
  std::vector<CollectiveRow> rows;
  for (const ir::Step& step : program.steps) {
    const ir::Collective* collective = TrainingCollective(program, step);
    if (collective == nullptr) continue;
    const int64_t times = ir::RunsOf(program, step);
    const double sent = ir::SentBytes(program, *collective) * static_cast<double>(times);
    total += sent;
    if (!wanted(*collective)) continue;
    const std::string key =
        absl::StrCat(ir::CollectiveKindName(collective->kind), ir::PhaseName(step.phase), " ",
                     AxesText(collective->axes, program.mesh), " ", sent, " ", FoldedText(collective->why));
    const auto [found, is_new] = row_of.emplace(key, rows.size());
    if (is_new) rows.push_back({.first = &step});
    CollectiveRow& row = rows[found->second];
    row.count += static_cast<int>(times);
    row.sent += sent;
  }
  if (rows.empty()) return "";
  std::string text = absl::StrFormat("%-18s%-9s%-11s%5s%11s%8s%6s  %s\n", "collective", "phase", "axes", "count",
                                     "sent/rank", "share", "line", "why");
  for (const CollectiveRow& row : rows) absl::StrAppend(&text, CollectiveText(program, row, total));
  return text;
}

}  // namespace cleave::search
