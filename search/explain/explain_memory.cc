#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "search/explain/explain.h"
#include "search/explain/table.h"
#include "search/knobs/memory/frontier.h"
#include "search/knobs/memory/memory.h"
#include "search/price/cost/communicators.h"

namespace cleave::search {
namespace {

struct Total {
  int64_t computed = 0;  // Ops.
  int64_t sent = 0;      // Values.
  Bytes bytes{0};
};

Total TotalOf(const std::vector<MadeAgain>& again) {
  Total total;
  for (const MadeAgain& own : again) {
    (own.retention == ir::Retention::kRecompute ? total.computed : total.sent) += own.ops;
    total.bytes += own.waits;
  }
  return total;
}

std::string PointText(const FrontierPoint& point, const ir::Plan& plan) {
  const Total total = TotalOf(point.again);
  return absl::StrFormat("%-2s%12s%12s%15d%6d%16d%12d%20s\n", point.is_chosen ? "*" : "", FormatBytes(point.peak),
                         FormatSeconds(point.step), plan.micro_batches, plan.search.zero, total.computed, total.sent,
                         FormatBytes(total.bytes));
}

// One sentence.
std::string WhyChosen(const Explained& explained, const Frontier& frontier, const FrontierPoint& chosen) {
  const std::optional<MemoryLimit> limit = MemoryLimitOf(explained.pins.settings, explained.cluster);
  if (explained.pins.settings.recompute == ir::Recompute::kFull) {
    return "`recompute = full` asks for as little memory as making values again can reach";
  }
  if (!limit.has_value()) {
    return absl::StrCat("no limit of memory is known, so ",
                        chosen.again.empty() ? "nothing is made again" : "only what the model asks for is made again");
  }
  const std::string room = absl::StrCat(limit->source, ", ", FormatBytes(limit->bytes));
  if (chosen.peak > limit->bytes) return absl::StrCat("it does not fit into ", room);
  if (frontier.is_as_asked) {
    return absl::StrCat("it fits into ", room, ", with nothing made again",
                        chosen.again.empty() ? "" : " but what the model asks for");
  }
  const FrontierPoint& most = frontier.points.front();
  return absl::StrCat("keeping more takes up to ", FormatBytes(most.peak), ", and the limit is ", room,
                      "; making more again takes longer");
}

struct Row {
  std::vector<std::string> names;
  ir::Retention retention = ir::Retention::kRecompute;
  Bytes waits{0};
  Seconds seconds{0};
};

// Equal layers together, those that save most first.
std::string MadeAgainTable(const std::vector<MadeAgain>& again) {
  std::vector<Row> rows;
  std::map<std::pair<std::string, ir::Retention>, size_t> row_of;
  for (const MadeAgain& own : again) {
    const auto [found, is_new] = row_of.emplace(std::pair(LayerNameOf(own.name).place, own.retention), rows.size());
    if (is_new) rows.push_back({.names = {}, .retention = own.retention});
    Row& row = rows[found->second];
    row.names.push_back(own.name);
    row.waits += own.waits;
    row.seconds += own.seconds;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.waits > b.waits; });
  std::string text = absl::StrFormat("\n%-50s%-18s%16s%14s\n", "made again", "how", "does not wait", "takes");
  for (const Row& row : rows) {
    const std::string count = row.names.size() > 1 ? absl::StrCat(" x ", row.names.size()) : "";
    absl::StrAppend(&text, absl::StrFormat("%-50s%-18s%16s%14s\n",
                                           absl::StrCat(Clipped(FoldedName(row.names), 48 - count.size()), count),
                                           row.retention == ir::Retention::kRecompute ? "computed again" : "sent again",
                                           FormatBytes(row.waits), FormatSeconds(row.seconds)));
  }
  return text;
}

}  // namespace

std::string ExplainMemory(const Explained& explained) {
  const ir::Plan& plan = explained.plan;
  std::string text = absl::StrCat(explained.graph.model, " on ", Plural(plan.mesh.rank_count(), "rank"), " of ",
                                  plan.cluster, ": memory of a rank against the predicted time of a step\n\n");
  if (const Bytes communicators = CommunicatorMemory(explained.cluster, explained.made.program);
      communicators > Bytes(0)) {
    absl::StrAppend(&text, "besides, communicators take ", FormatBytes(communicators), ": ",
                    CommunicatorsOf(explained.made.program), " of ", FormatBytes(explained.cluster.communicator),
                    "\n\n");
  }
  if (explained.graph.is_manual()) {
    return absl::StrCat(text, "a manual model says itself what it keeps: ",
                        FormatBytes(explained.made.memory.use.prediction.peak), "\n");
  }
  const Frontier frontier = FrontierOf({.graph = explained.graph,
                                        .plan = plan,
                                        .cluster = explained.cluster,
                                        .execution = explained.execution,
                                        .asked = AskedFor(explained.pins)});
  absl::StrAppend(&text, absl::StrFormat("%-2s%12s%12s%15s%6s%16s%12s%20s\n", "", "memory", "step", "micro-batches",
                                         "zero", "computed again", "sent again", "bytes made again"));
  const FrontierPoint* chosen = nullptr;
  for (const FrontierPoint& point : frontier.points) {
    absl::StrAppend(&text, PointText(point, plan));
    if (point.is_chosen) chosen = &point;
  }
  absl::StrAppend(&text, "\n", Wrapped("* chosen: ", WhyChosen(explained, frontier, *chosen), 2));
  if (!chosen->again.empty()) absl::StrAppend(&text, MadeAgainTable(chosen->again));
  return text;
}

}  // namespace cleave::search
