// Reading guide: ExplainTime prints the parts of a ledger (ledger.h): each kernel, collectives, totals by kind,
// products by shape, and what they add up to. Sums joins the rows that a table shows as one line.
// ExplainKernels writes the rows as they are.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/json/json.h"
#include "base/layer_names/layer_names.h"
#include "base/text/text.h"
#include "base/units/units.h"
#include "search/explain/explain.h"
#include "search/explain/ledger.h"
#include "search/explain/table.h"

namespace cleave::search {
namespace {

// Rows together.
struct WorkSum {
  const LedgerRow* first = nullptr;
  int64_t runs = 0;
  Seconds seconds{0}, at_peak{0};
  Flops flops{0};
  Bytes bytes{0};
  double sent = 0;

  void Add(const LedgerRow& row) {
    if (first == nullptr) first = &row;
    runs += row.Runs();
    seconds += row.AllSeconds();
    at_peak += row.at_peak * static_cast<double>(row.Runs());
    flops += row.each.flops * static_cast<double>(row.Runs());
    bytes += row.each.bytes * row.Runs();
    sent += row.each.sent * static_cast<double>(row.Runs());
  }
};

using WorkSums = std::vector<std::pair<std::string, WorkSum>>;

// The rows grouped by the name that `name_of` gives, without nameless ones; the longest first.
WorkSums SumsOf(const Ledger& ledger, const std::function<std::optional<std::string>(const LedgerRow&)>& name_of) {
  WorkSums sums;
  std::map<std::string, size_t> place_of;
  for (const LedgerRow& row : ledger.rows) {
    std::optional<std::string> name = name_of(row);
    if (!name.has_value()) continue;
    const auto [found, is_new] = place_of.emplace(*name, sums.size());
    if (is_new) sums.emplace_back(*std::move(name), WorkSum());
    sums[found->second].second.Add(row);
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  return sums;
}

std::string FlopsCell(Flops flops) { return flops > Flops(0) ? FormatFlops(flops) : "-"; }
std::string BytesCell(double bytes) { return bytes > 0 ? FormatBytes(Bytes(static_cast<int64_t>(bytes))) : "-"; }

// "x.0..11.ffn.up.matmul, 3 ops", "table.new, 148 loops"
std::string KernelName(const LedgerRow& row, size_t width) {
  std::string ops = row.ops.size() > 1 ? absl::StrCat(", ", row.ops.size(), " ops") : "";
  if (row.loops > 1) ops = absl::StrCat(", ", row.loops, " loops");
  if (row.calls > 1) ops = absl::StrCat(", ", row.calls, " calls");
  return absl::StrCat(Clipped(FoldedName(row.names), width - ops.size()), ops);
}

bool IsSent(const LedgerRow& row) { return row.kind == WorkKind::kCollective; }

std::string KernelTable(const Ledger& ledger) {
  constexpr char kRow[] = "%-43s%6s%10s%12s%11s%11s%7s\n";
  std::string text;
  std::optional<ir::Phase> phase;
  for (const LedgerRow& row : ledger.rows) {
    if (IsSent(row)) continue;
    if (phase != row.phase) {
      absl::StrAppend(
          &text, text.empty() ? "" : "\n",
          absl::StrFormat(kRow, ir::PhaseName(row.phase), "times", "each", "work", "memory", "limit", "share"));
      phase = row.phase;
    }
    absl::StrAppendFormat(&text, kRow, KernelName(row, 42), absl::StrCat(row.Runs()), FormatSeconds(row.each.seconds),
                          FlopsCell(row.each.flops), BytesCell(static_cast<double>(row.each.bytes.value())),
                          LimitName(row.each.limit), Share(row.AllSeconds().value(), ledger.step.value()));
  }
  return text;
}

std::string CollectivesTable(const Ledger& ledger) {
  constexpr char kRow[] = "%-22s%-10s%-20s%6s%11s%10s%10s%11s\n";
  const WorkSums sums = SumsOf(ledger, [](const LedgerRow& row) {
    return IsSent(row) ? std::optional(absl::StrCat(row.what, "\n", ir::PhaseName(row.phase), "\n", row.links))
                       : std::nullopt;
  });
  if (sums.empty()) return "\nno collectives\n";
  std::string text = absl::StrCat(
      "\n", absl::StrFormat(kRow, "collective", "phase", "link", "times", "sent each", "each", "time", "share"));
  for (const auto& [name, sum] : sums) {
    const auto runs = static_cast<double>(sum.runs);
    absl::StrAppendFormat(&text, kRow, Clipped(sum.first->what, 21), ir::PhaseName(sum.first->phase),
                          Clipped(sum.first->links, 19), absl::StrCat(sum.runs), BytesCell(sum.sent / runs),
                          FormatSeconds(sum.seconds * (1 / runs)), FormatSeconds(sum.seconds),
                          Share(sum.seconds.value(), ledger.step.value()));
  }
  return text;
}

std::string KindTable(const Ledger& ledger) {
  constexpr char kRow[] = "%-22s%10s%12s%14s%14s%14s%14s\n";
  std::string text =
      absl::StrCat("\n", absl::StrFormat(kRow, "kind", "times", "time", "work", "memory", "sent", "share"));
  WorkSum all;
  const auto line = [&](const std::string& name, const WorkSum& sum) {
    absl::StrAppendFormat(&text, kRow, name, absl::StrCat(sum.runs), FormatSeconds(sum.seconds), FlopsCell(sum.flops),
                          BytesCell(static_cast<double>(sum.bytes.value())), BytesCell(sum.sent),
                          Share(sum.seconds.value(), ledger.step.value()));
  };
  for (const auto& [name, sum] :
       SumsOf(ledger, [](const LedgerRow& row) { return std::string(WorkKindName(row.kind)); })) {
    line(name, sum);
  }
  for (const LedgerRow& row : ledger.rows) all.Add(row);
  line("all", all);
  return text;
}

// Products and attention, with the share of the peak that each reaches.
std::string ProductTable(const Ledger& ledger) {
  constexpr char kRow[] = "%-59s%6s%9s%12s%8s%6s\n";
  const WorkSums sums = SumsOf(ledger, [](const LedgerRow& row) {
    return row.kind == WorkKind::kProduct || row.kind == WorkKind::kAttention ? std::optional(row.what) : std::nullopt;
  });
  if (sums.empty()) return "";
  std::string text =
      absl::StrCat("\n", absl::StrFormat(kRow, "product", "times", "each", "work each", "of peak", "share"));
  for (const auto& [name, sum] : sums) {
    const auto runs = static_cast<double>(sum.runs);
    absl::StrAppendFormat(&text, kRow, Clipped(name, 59), absl::StrCat(sum.runs),
                          FormatSeconds(sum.seconds * (1 / runs)), FormatFlops(sum.flops * (1 / runs)),
                          Share(sum.at_peak.value(), sum.seconds.value()),
                          Share(sum.seconds.value(), ledger.step.value()));
  }
  return text;
}

std::string SumText(const Ledger& ledger) {
  const Prediction& sum = ledger.sum;
  std::string text = absl::StrCat(FormatSeconds(sum.Alone()), ": compute ", FormatSeconds(sum.compute),
                                  ", communication ", FormatSeconds(sum.communication));
  if (sum.host_copies > Seconds(0)) absl::StrAppend(&text, ", copies ", FormatSeconds(sum.host_copies));
  return text;
}

std::string PeakText(const Ledger& ledger) {
  Seconds at_peak{0};
  for (const LedgerRow& row : ledger.rows) at_peak += row.at_peak * static_cast<double>(row.Runs());
  const double step = ledger.step.value();
  return absl::StrCat(Share(ledger.model_at_peak.value(), step), " of the peak of the chips: the model's products are ",
                      FormatFlops(ledger.model), " on all ranks; with what is computed again or on several ranks, ",
                      Share(at_peak.value(), step), " of this rank's");
}

// "261 of CUDA graphs: 259 kernels, 2 fills of memory"
std::string NodesText(const Ledger& ledger) {
  const NodeCounts nodes = NodesOf(ledger);
  std::vector<std::string> kinds = {Plural(nodes.kernels, "kernel")};
  if (nodes.copies > 0) kinds.push_back(absl::StrCat(nodes.copies, " copies"));
  if (nodes.fills > 0) kinds.push_back(Plural(nodes.fills, "fill"));
  if (nodes.others > 0) kinds.push_back(absl::StrCat(nodes.others, " marks of collectives"));
  return absl::StrCat(nodes.All(), " of CUDA graphs: ", absl::StrJoin(kinds, ", "));
}

Json KernelJson(const LedgerRow& row, const std::vector<std::string>& ops) {
  return JsonObject({{"phase", std::string(ir::PhaseName(row.phase))},
                     {"kind", std::string(WorkKindName(row.kind))},
                     {"ops", ops},
                     {"runs", row.Runs()},
                     {"seconds", row.each.seconds.value()},
                     {"flops", row.each.flops.value()},
                     {"bytes", row.each.bytes.value()},
                     {"sent_bytes", row.each.sent},
                     {"limit", std::string(LimitName(row.each.limit))}});
}

}  // namespace

std::string ExplainTime(const Explained& explained, int rank) {
  const Ledger ledger = LedgerOf(explained, rank);
  const int64_t micro_batches = ir::MicroBatches(explained.made.program);
  std::string text = absl::StrCat(
      Wrapped("",
              absl::StrCat(explained.graph.model, " on ", Plural(explained.plan.mesh.rank_count(), "rank"), " of ",
                           explained.plan.cluster, ": what each kernel of a step of rank ", rank, " takes, predicted",
                           micro_batches > 1 ? absl::StrCat(", in ", micro_batches, " micro-batches") : ""),
              0),
      "\n", KernelTable(ledger), CollectivesTable(ledger), KindTable(ledger), ProductTable(ledger), "\n");
  absl::StrAppend(&text, Wrapped("sum       ", SumText(ledger), 10));
  // What is less is rounding.
  const Seconds least = ledger.step * 1e-9;
  if (ledger.beside > least) {
    absl::StrAppend(&text, "beside    ", FormatSeconds(ledger.beside), " less, because some of it runs side by side\n");
  }
  if (ledger.idle > least) {
    absl::StrAppend(&text, "idle      ", FormatSeconds(ledger.idle), " more, in which other stages are awaited\n");
  }
  if (explained.execution.overlaps) absl::StrAppend(&text, Wrapped("nodes     ", NodesText(ledger), 10));
  absl::StrAppend(&text, "step      ", FormatSeconds(ledger.step), "\n", Wrapped("products  ", PeakText(ledger), 10));
  return text;
}

std::string ExplainKernels(const Explained& explained, int rank) {
  std::string text;
  for (const LedgerRow& row : LedgerOf(explained, rank).rows) {
    absl::StrAppend(&text, JsonLine(KernelJson(row, row.ops)), "\n");
  }
  return text;
}

Json KernelsOfPlan(const Explained& explained) {
  const std::vector<Ledger> ledgers = LedgersOf(explained);
  Json kernels = Json::array();
  for (size_t part = 0; part < ledgers.size(); ++part) {
    const ir::Program& program = ledgers.size() > 1 ? explained.made.parts[part].program : explained.made.program;
    for (const LedgerRow& row : ledgers[part].rows) {
      Json kernel = KernelJson(row, row.shown.empty() ? std::vector<std::string>{row.names.front()} : row.shown);
      kernel["line"] = program.steps[static_cast<size_t>(row.step)].line;
      if (!row.what.empty()) kernel["what"] = row.what;
      if (!row.read_by.empty()) kernel["read_by"] = row.read_by;
      if (ledgers.size() > 1) kernel["part"] = part;
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

}  // namespace cleave::search
