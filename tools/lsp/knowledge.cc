#include "tools/lsp/knowledge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cleave::tools {

Knowledge::Knowledge(std::vector<const Snapshot*> snapshots, const std::string& identity, absl::string_view text)
    : identity_(identity) {
  for (const Snapshot* snapshot : snapshots) {
    Moved moved{.snapshot = snapshot};
    const auto found = snapshot->texts.find(identity);
    // A file that was not open then was as it is.
    if (found != snapshot->texts.end() && *found->second != text) {
      const absl::string_view before = *found->second;
      const size_t shorter = std::min(before.size(), text.size());
      size_t same = 0, at_end = 0;
      while (same < shorter && before[same] == text[same]) ++same;
      while (at_end < shorter - same && before[before.size() - 1 - at_end] == text[text.size() - 1 - at_end]) ++at_end;
      moved.is_same = false;
      moved.prefix = static_cast<int32_t>(same);
      moved.suffix = static_cast<int32_t>(text.size() - at_end);
      moved.by = static_cast<int32_t>(text.size()) - static_cast<int32_t>(before.size());
    }
    moved_.push_back(moved);
  }
}

std::optional<std::pair<int32_t, int32_t>> Knowledge::Before(const Moved& moved, int32_t begin, int32_t end) {
  if (moved.is_same || end <= moved.prefix) return std::pair(begin, end);
  if (begin >= moved.suffix) return std::pair(begin - moved.by, end - moved.by);
  return std::nullopt;
}

KnownValue Knowledge::Known(const Moved& moved, const FileRange& before, const FoundValue& value) const {
  const int32_t by = moved.is_same || before.end <= moved.prefix ? 0 : moved.by;
  KnownValue known{.value = value, .begin = before.begin + by, .end = before.end + by};
  known.is_old_plan = !moved.is_same && !value.plan.empty();
  if (!value.plan.empty()) return known;
  // A plan takes longer than types: that of an older text is shown until then.
  for (const Moved& older : moved_) {
    const auto place = Before(older, known.begin, known.end);
    if (&older <= &moved || !place.has_value()) continue;
    const auto found =
        older.snapshot->findings.values.find({.path = identity_, .begin = place->first, .end = place->second});
    if (found == older.snapshot->findings.values.end() || found->second.plan.empty()) continue;
    known.value.plan = found->second.plan;
    known.is_old_plan = true;
    break;
  }
  return known;
}

std::optional<KnownValue> Knowledge::At(int32_t begin, int32_t end) const {
  for (const Moved& moved : moved_) {
    const auto place = Before(moved, begin, end);
    if (!place.has_value()) continue;
    const FileRange range{.path = identity_, .begin = place->first, .end = place->second};
    const auto found = moved.snapshot->findings.values.find(range);
    if (found != moved.snapshot->findings.values.end()) return Known(moved, range, found->second);
  }
  return std::nullopt;
}

std::optional<KnownValue> Knowledge::Around(int32_t begin, int32_t end) const {
  for (const Moved& moved : moved_) {
    const auto place = Before(moved, begin, end);
    if (!place.has_value()) continue;
    const auto& values = moved.snapshot->findings.values;
    auto best = values.end();
    for (auto each = values.lower_bound({.path = identity_, .begin = 0, .end = 0});
         each != values.end() && each->first.path == identity_ && each->first.begin <= place->first; ++each) {
      const FileRange& range = each->first;
      if (range.end < place->second) continue;
      if (best == values.end() || range.end - range.begin < best->first.end - best->first.begin) best = each;
    }
    if (best == values.end()) continue;
    // What a change lies in is another expression now.
    const FileRange& range = best->first;
    const bool is_changed = !moved.is_same && range.end > moved.prefix && range.begin < moved.suffix - moved.by;
    if (!is_changed) return Known(moved, range, best->second);
  }
  return std::nullopt;
}

std::optional<FileRange> Knowledge::MeaningOf(int32_t begin, int32_t end) const {
  for (const Moved& moved : moved_) {
    const auto place = Before(moved, begin, end);
    if (!place.has_value()) continue;
    const auto& meanings = moved.snapshot->findings.meanings;
    const auto found = meanings.find({.path = identity_, .begin = place->first, .end = place->second});
    if (found == meanings.end()) continue;
    FileRange meaning = found->second;
    if (meaning.path != identity_ || moved.is_same) return meaning;
    // The declaration has moved, too.
    if (meaning.end <= moved.prefix) return meaning;
    if (meaning.begin < moved.suffix - moved.by) continue;
    meaning.begin += moved.by;
    meaning.end += moved.by;
    return meaning;
  }
  return std::nullopt;
}

std::string Knowledge::Verdict() const {
  for (const Moved& moved : moved_) {
    if (!moved.snapshot->findings.is_planned) continue;
    const bool is_old = !moved.is_same || &moved != &moved_.front();
    return absl::StrCat(moved.snapshot->findings.verdict, is_old ? " (of the text before the last changes)" : "");
  }
  return "";
}

}  // namespace cleave::tools
