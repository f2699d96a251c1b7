#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/json/json.h"
#include "base/units/units.h"
#include "tools/plan_diff/folded.h"
#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {
namespace {

constexpr size_t kColumns = 100;

// `text` in lines of at most kColumns behind `head`, cut between words. A longer word gets its own line.
std::string Line(const std::string& head, const std::string& text) {
  std::string result, line = head;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    if (line.size() > head.size() && line.size() + 1 + end - begin > kColumns) {
      absl::StrAppend(&result, line, "\n");
      line = std::string(head.size(), ' ');
    } else if (line.size() > head.size()) {
      line += ' ';
    }
    absl::StrAppend(&line, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return absl::StrCat(result, line, "\n");
}

std::string ChangesText(const std::string& title, const std::vector<TextChange>& changes) {
  if (changes.empty()) return "";
  std::string text = absl::StrCat("\n", title, "\n");
  for (const FoldedChange& change : Folded(changes)) {
    absl::StrAppend(&text, Line("  ", absl::StrJoin(change.names, ", ")));
    if (change.before.has_value()) absl::StrAppend(&text, Line("    - ", *change.before));
    if (change.after.has_value()) absl::StrAppend(&text, Line("    + ", *change.after));
  }
  return text;
}

std::string FiguresText(const PlanDiff& diff) {
  std::string text;
  for (const FigureChange& change : diff.figures) {
    absl::StrAppend(&text, absl::StrFormat("  %-24s%16s%16s%10s\n", change.name, FigureText(change.name, change.before),
                                           FigureText(change.name, change.after), RatioText(change)));
  }
  return text.empty() ? "" : absl::StrCat("\n", absl::StrFormat("%-26s%16s%16s\n", "figures", "before", "after"), text);
}

std::string CollectivesText(const PlanDiff& diff) {
  std::string text;
  const auto side = [](int count, double bytes) {
    return absl::StrFormat("%5d%12s", count, FormatBytes(Bytes(static_cast<int64_t>(bytes))));
  };
  for (const CollectiveChange& change : diff.collectives) {
    absl::StrAppend(&text, absl::StrFormat("  %-19s%-10s%s%s\n", change.kind, change.phase,
                                           side(change.count_before, change.bytes_before),
                                           side(change.count_after, change.bytes_after)));
  }
  if (text.empty()) return "";
  return absl::StrCat("\n", absl::StrFormat("%-31s%17s%17s\n", "collectives, bytes per rank", "before", "after"), text);
}

Json Optional(const std::optional<std::string>& text) { return text.has_value() ? Json(*text) : Json(nullptr); }
Json Optional(const std::optional<double>& number) { return number.has_value() ? Json(*number) : Json(nullptr); }

Json OpJson(const std::optional<OpView>& op) {
  if (!op.has_value()) return nullptr;
  return {{"cuts", op->cuts}, {"cost", Optional(op->cost)}};
}

template <typename Change>
Json ChangesJson(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& change : changes) {
    list.push_back({{"name", change.name}, {"before", Optional(change.before)}, {"after", Optional(change.after)}});
  }
  return list;
}

}  // namespace

std::string DiffText(const PlanDiff& diff) {
  if (diff.is_empty()) return "the plans are equal\n";
  const std::string text =
      absl::StrCat(ChangesText("settings", diff.settings), FiguresText(diff), ChangesText("ops", TextsOf(diff.ops)),
                   ChangesText("tensors", diff.tensors), CollectivesText(diff));
  return text.substr(1);  // Every part starts with an empty line.
}

std::string DiffJson(const PlanDiff& diff) {
  Json ops = Json::array(), collectives = Json::array();
  for (const OpChange& change : diff.ops) {
    ops.push_back({{"name", change.name}, {"before", OpJson(change.before)}, {"after", OpJson(change.after)}});
  }
  for (const CollectiveChange& change : diff.collectives) {
    collectives.push_back({{"kind", change.kind},
                           {"phase", change.phase},
                           {"before", {{"count", change.count_before}, {"sent_bytes", change.bytes_before}}},
                           {"after", {{"count", change.count_after}, {"sent_bytes", change.bytes_after}}}});
  }
  const Json document = {{"format", "cleave-plan-diff"},
                         {"version", 1},
                         {"equal", diff.is_empty()},
                         {"settings", ChangesJson(diff.settings)},
                         {"figures", ChangesJson(diff.figures)},
                         {"ops", ops},
                         {"tensors", ChangesJson(diff.tensors)},
                         {"collectives", collectives}};
  return JsonDocument(document);
}

}  // namespace cleave::tools
