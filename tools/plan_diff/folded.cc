#include "tools/plan_diff/folded.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/layer_names/layer_names.h"
#include "base/units/units.h"

namespace cleave::tools {
namespace {

std::string CutsText(const OpView& op) {
  return absl::StrCat(op.cuts, op.cost.has_value() ? absl::StrFormat("; cost %.6g", *op.cost) : "");
}

std::optional<std::string> CutsText(const std::optional<OpView>& op) {
  return op.has_value() ? std::optional(CutsText(*op)) : std::nullopt;
}

}  // namespace

std::vector<FoldedChange> Folded(const std::vector<TextChange>& changes) {
  std::vector<FoldedChange> folded;
  std::vector<std::vector<std::vector<std::string>>> names;  // By change and by place in repeated layers.
  std::map<std::pair<std::optional<std::string>, std::optional<std::string>>, size_t> change_of;
  std::map<std::pair<size_t, std::string>, size_t> place_of;
  for (const TextChange& change : changes) {
    const auto [found, is_new] = change_of.emplace(std::pair(change.before, change.after), folded.size());
    if (is_new) {
      folded.push_back({.names = {}, .before = change.before, .after = change.after});
      names.emplace_back();
    }
    std::vector<std::vector<std::string>>& places = names[found->second];
    const auto [place, is_new_place] =
        place_of.emplace(std::pair(found->second, LayerNameOf(change.name).place), places.size());
    if (is_new_place) places.emplace_back();
    places[place->second].push_back(change.name);
  }
  for (size_t i = 0; i < folded.size(); ++i) {
    for (const std::vector<std::string>& place : names[i]) {
      folded[i].names.push_back(
          absl::StrCat(FoldedName(place), place.size() > 1 ? absl::StrCat(" x ", place.size()) : ""));
    }
  }
  return folded;
}

std::vector<TextChange> TextsOf(const std::vector<OpChange>& changes) {
  std::vector<TextChange> texts;
  for (const OpChange& change : changes) {
    texts.push_back({.name = change.name, .before = CutsText(change.before), .after = CutsText(change.after)});
  }
  return texts;
}

std::string FigureText(const std::string& name, const std::optional<double>& value) {
  if (!value.has_value()) return "none";
  if (absl::StrContains(name, "seconds")) return FormatSeconds(Seconds(*value));
  const bool is_bytes = absl::StrContains(name, "bytes") || absl::StartsWith(name, "memory");
  return is_bytes ? FormatBytes(Bytes(static_cast<int64_t>(*value))) : absl::StrFormat("%.6g", *value);
}

std::string RatioText(const FigureChange& change) {
  const bool has_ratio = change.before.value_or(0) > 0 && change.after.has_value();
  return has_ratio ? absl::StrFormat("x %.3f", *change.after / *change.before) : "";
}

}  // namespace cleave::tools
