#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/json/json.h"
#include "base/layer_names/layer_names.h"
#include "base/units/units.h"
#include "tools/plan_diff/plan_diff.h"

namespace cleave::tools {
namespace {

constexpr size_t kColumns = 100;

// Equal changes, with the names of what they changed, grouped by the places of these names in repeated layers.
struct Group {
  std::vector<std::vector<std::string>> places;
  std::vector<std::string> lines;  // Below the names.
};

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

class Groups {
 public:
  void Add(const std::string& name, std::vector<std::string> lines) {
    const auto [found, is_new] = group_of_.emplace(absl::StrJoin(lines, "\n"), groups_.size());
    if (is_new) groups_.push_back({.places = {}, .lines = std::move(lines)});
    Group& group = groups_[found->second];
    const auto [place, is_new_place] =
        place_of_.emplace(std::pair(found->second, LayerNameOf(name).place), group.places.size());
    if (is_new_place) group.places.emplace_back();
    group.places[place->second].push_back(name);
  }

  std::string Text(const std::string& title) const {
    if (groups_.empty()) return "";
    std::string text = absl::StrCat("\n", title, "\n");
    for (const Group& group : groups_) {
      const std::string names =
          absl::StrJoin(group.places, ", ", [](std::string* out, const std::vector<std::string>& place) {
            absl::StrAppend(out, FoldedName(place), place.size() > 1 ? absl::StrCat(" x ", place.size()) : "");
          });
      absl::StrAppend(&text, Line("  ", names));
      for (const std::string& line : group.lines) absl::StrAppend(&text, Line(line.substr(0, 6), line.substr(6)));
    }
    return text;
  }

 private:
  std::vector<Group> groups_;
  std::map<std::string, size_t> group_of_;                     // By the lines.
  std::map<std::pair<size_t, std::string>, size_t> place_of_;  // By group and place.
};

std::string Cost(const OpView& op) { return op.cost.has_value() ? absl::StrFormat("; cost %.6g", *op.cost) : ""; }

std::string OpsText(const PlanDiff& diff) {
  Groups groups;
  for (const OpChange& change : diff.ops) {
    std::vector<std::string> lines;
    if (change.before.has_value()) lines.push_back(absl::StrCat("    - ", change.before->cuts, Cost(*change.before)));
    if (change.after.has_value()) lines.push_back(absl::StrCat("    + ", change.after->cuts, Cost(*change.after)));
    groups.Add(change.name, std::move(lines));
  }
  return groups.Text("ops");
}

std::string TextsText(const std::string& title, const std::vector<TextChange>& changes) {
  Groups groups;
  for (const TextChange& change : changes) {
    std::vector<std::string> lines;
    if (change.before.has_value()) lines.push_back(absl::StrCat("    - ", *change.before));
    if (change.after.has_value()) lines.push_back(absl::StrCat("    + ", *change.after));
    groups.Add(change.name, std::move(lines));
  }
  return groups.Text(title);
}

std::string FigureText(const std::string& name, const std::optional<double>& value) {
  if (!value.has_value()) return "none";
  if (absl::StrContains(name, "seconds")) return FormatSeconds(Seconds(*value));
  const bool is_bytes = absl::StrContains(name, "bytes") || absl::StartsWith(name, "memory");
  return is_bytes ? FormatBytes(Bytes(static_cast<int64_t>(*value))) : absl::StrFormat("%.6g", *value);
}

std::string FiguresText(const PlanDiff& diff) {
  std::string text;
  for (const FigureChange& change : diff.figures) {
    const bool has_ratio = change.before.value_or(0) > 0 && change.after.has_value();
    absl::StrAppend(&text, absl::StrFormat("  %-24s%16s%16s%10s\n", change.name, FigureText(change.name, change.before),
                                           FigureText(change.name, change.after),
                                           has_ratio ? absl::StrFormat("x %.3f", *change.after / *change.before) : ""));
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
  const std::string text = absl::StrCat(TextsText("settings", diff.settings), FiguresText(diff), OpsText(diff),
                                        TextsText("tensors", diff.tensors), CollectivesText(diff));
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
