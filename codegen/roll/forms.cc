#include "codegen/roll/forms.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/check/check.h"

namespace cleave::codegen {
namespace {

constexpr size_t kMostExceptions = 2;

// Two numbers that take turns.
std::optional<NumberForm> TurnsOf(const std::map<int64_t, int64_t>& numbers) {
  std::optional<int64_t> by_rest[2];
  for (const auto& [i, number] : numbers) {
    if (i < 0) return std::nullopt;
    std::optional<int64_t>& known = by_rest[i % 2];
    if (known.value_or(number) != number) return std::nullopt;
    known = number;
  }
  if (numbers.size() < 3 || !by_rest[0].has_value() || !by_rest[1].has_value() || by_rest[0] == by_rest[1]) {
    return std::nullopt;
  }
  return NumberForm{.kind = NumberForm::Kind::kTurns, .base = *by_rest[0], .stride = *by_rest[1] - *by_rest[0]};
}

// The line through most of the numbers; of two through as many the flatter one, because a single other number makes
// the other one steep.
std::optional<NumberForm> LineOf(const std::map<int64_t, int64_t>& numbers) {
  std::map<std::pair<int64_t, int64_t>, int> lines;  // Stride and base; how often two neighbours agree.
  for (auto next = numbers.begin(), at = next++; next != numbers.end(); at = next++) {
    const int64_t passes = next->first - at->first;
    if ((next->second - at->second) % passes != 0) continue;
    const int64_t stride = (next->second - at->second) / passes;
    ++lines[{stride, at->second - at->first * stride}];
  }
  if (numbers.size() == 1) lines[{0, numbers.begin()->second}] = 1;
  if (lines.empty()) return std::nullopt;
  const auto best = std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    if (a.second != b.second) return a.second < b.second;
    return std::abs(a.first.first) > std::abs(b.first.first);
  });
  NumberForm form{.base = best->first.second, .stride = best->first.first};
  for (const auto& [i, number] : numbers) {
    if (number != form.base + i * form.stride) form.exceptions.emplace(i, number);
  }
  if (form.exceptions.size() > kMostExceptions) return std::nullopt;
  return form;
}

NumberForm TableOf(const std::map<int64_t, int64_t>& numbers) {
  NumberForm form{.kind = NumberForm::Kind::kTable};
  for (int64_t i = numbers.begin()->first; i <= numbers.rbegin()->first; ++i) {
    const auto found = numbers.find(i);
    form.table.push_back(found == numbers.end() ? numbers.begin()->second : found->second);
  }
  return form;
}

bool TakeLines(const std::map<int64_t, NamedPass>& names, NameForm& form) {
  std::map<int, size_t> counts;
  for (const auto& [i, name] : names) ++counts[name.line];
  form.line = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->first;
  for (const auto& [i, name] : names) {
    if (name.line != form.line) form.other_lines[i] = name.line;
  }
  return form.other_lines.size() <= kMostExceptions;
}

// All places where the number stands between two dots.
std::vector<SplitName> SplitsOf(const std::string& name, int64_t number) {
  std::vector<SplitName> splits;
  const std::string middle = absl::StrCat(".", number, ".");
  for (size_t place = name.find(middle); place != std::string::npos; place = name.find(middle, place + 1)) {
    splits.push_back({name.substr(0, place + 1), name.substr(place + middle.size())});
  }
  return splits;
}

}  // namespace

int64_t NumberForm::At(int64_t i) const {
  switch (kind) {
    case Kind::kLine: {
      const auto found = exceptions.find(i);
      return found == exceptions.end() ? base + i * stride : found->second;
    }
    case Kind::kTurns:
      return base + i % 2 * stride;
    case Kind::kTable:
      return table[static_cast<size_t>(i - least)];
  }
  CLEAVE_UNREACHABLE();
}

NumberForm FormOf(const std::map<int64_t, int64_t>& numbers) {
  std::optional<NumberForm> form = TurnsOf(numbers);
  if (!form.has_value()) form = LineOf(numbers);
  if (!form.has_value()) form = TableOf(numbers);
  form->least = numbers.begin()->first;
  form->greatest = numbers.rbegin()->first;
  return *std::move(form);
}

std::string NameForm::NameAt(int64_t i) const {
  const auto found = exceptions.find(i);
  return found == exceptions.end() ? absl::StrReplaceAll(text, {{"#", absl::StrCat(i + shift)}}) : found->second;
}

int NameForm::LineAt(int64_t i) const {
  const auto found = other_lines.find(i);
  return found == other_lines.end() ? line : found->second;
}

std::optional<NameForm> FormOf(const std::map<int64_t, NamedPass>& names) {
  NameForm form{.text = names.begin()->second.name};
  const bool is_one =
      std::all_of(names.begin(), names.end(), [&](const auto& of) { return of.second.name == form.text; });
  if (!is_one) {
    std::map<std::tuple<int64_t, SplitName>, size_t> votes;  // By shift and what is around the number.
    for (const auto& [i, of] : names) {
      if (!of.number.has_value()) continue;
      for (SplitName& split : SplitsOf(of.name, *of.number)) ++votes[{*of.number - i, std::move(split)}];
    }
    if (votes.empty()) return std::nullopt;
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto& [shift, split] = most->first;
    form.shift = shift;
    form.text = absl::StrCat(split.before, "#.", split.behind);
    for (const auto& [i, of] : names) {
      if (form.NameAt(i) != of.name) form.exceptions[i] = of.name;
    }
    if (form.exceptions.size() > kMostExceptions || form.exceptions.size() >= names.size()) return std::nullopt;
  }
  if (!TakeLines(names, form)) return std::nullopt;
  return form;
}

std::optional<SplitName> Split(const std::string& name, int64_t number, const std::string& before) {
  std::vector<SplitName> splits = SplitsOf(name, number);
  if (splits.empty()) return std::nullopt;
  const auto found =
      std::find_if(splits.begin(), splits.end(), [&](const SplitName& split) { return split.before == before; });
  return found == splits.end() ? splits.front() : *found;
}

}  // namespace cleave::codegen
