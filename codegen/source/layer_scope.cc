#include "codegen/source/layer_scope.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/emit/text.h"

namespace cleave::codegen {
namespace {

const LayerText* Find(const LayerScope* scope, const std::string& name) {
  if (scope == nullptr) return nullptr;
  const auto found = scope->names.find(name);
  return found == scope->names.end() ? nullptr : &found->second;
}

// Null for a name that is the same in all layers.
const LayerText* TextIn(const LayerScope* scope, const std::string& name) {
  const LayerText* const text = Find(scope, name);
  return text == nullptr || text->text.find('#') == std::string::npos ? nullptr : text;
}

// "layer.i - 1"
std::string ShiftedNumber(const LayerScope& scope, int64_t shift) {
  if (shift == 0) return scope.number;
  return absl::StrCat(scope.number, shift > 0 ? " + " : " - ", std::abs(shift));
}

// "64 + i % 2 * 128", where two numbers take turns.
std::optional<std::string> InTurns(const std::map<int64_t, int64_t>& numbers, absl::string_view i) {
  std::optional<int64_t> by_rest[2];
  for (const auto& [layer, number] : numbers) {
    std::optional<int64_t>& known = by_rest[layer % 2];
    if (known.value_or(number) != number) return std::nullopt;
    known = number;
  }
  if (numbers.size() < 3 || !by_rest[0].has_value() || !by_rest[1].has_value() || by_rest[0] == by_rest[1]) {
    return std::nullopt;
  }
  const int64_t difference = *by_rest[1] - *by_rest[0];
  return absl::StrCat(*by_rest[0], difference > 0 ? " + " : " - ", i, " % 2 * ", std::abs(difference));
}

}  // namespace

std::string OpNameText(const LayerScope* scope, const std::string& name) {
  const LayerText* const text = TextIn(scope, name);
  if (text == nullptr) return StringLiteral(name);
  const std::string arguments = absl::StrCat(StringLiteral(text->text), ", ", ShiftedNumber(*scope, text->shift));
  if (text->exceptions.empty()) return absl::StrCat("{", arguments, "}");
  std::string choice;
  for (const auto& [layer, other] : text->exceptions) {
    absl::StrAppend(&choice, scope->number, " == ", layer, " ? OpName(", StringLiteral(other), ") : ");
  }
  return absl::StrCat(choice, "OpName(", arguments, ")");
}

std::string LineText(const LayerScope* scope, const std::string& name, int line) {
  const LayerText* const text = Find(scope, name);
  if (text == nullptr) return absl::StrCat(line);
  std::string choice;
  for (const auto& [layer, other] : text->other_lines) {
    absl::StrAppend(&choice, scope->number, " == ", layer, " ? ", other, " : ");
  }
  return absl::StrCat(choice, text->line);
}

std::string NameStringText(const LayerScope* scope, const std::string& name) {
  const LayerText* const text = TextIn(scope, name);
  if (text == nullptr) return StringLiteral(name);
  const std::string op = OpNameText(scope, name);
  return text->exceptions.empty() ? absl::StrCat("OpName", op, ".ToString()") : absl::StrCat("(", op, ").ToString()");
}

std::string NameCharactersText(const LayerScope* scope, const std::string& name) {
  const bool is_literal = TextIn(scope, name) == nullptr;
  return absl::StrCat(NameStringText(scope, name), is_literal ? "" : ".c_str()");
}

std::string LayerNumbers(int64_t first, int64_t last, int64_t step) {
  return absl::StrCat(first, step == 1 ? "" : absl::StrCat(", ", first + step), " to ", last);
}

std::string ShownName(const LayerScope* scope, const std::string& name) {
  const LayerText* const text = TextIn(scope, name);
  if (text == nullptr) return name;
  int64_t first = scope->first;
  int64_t last = scope->last;
  while (text->exceptions.count(first) > 0) first += scope->step;
  while (text->exceptions.count(last) > 0) last -= scope->step;
  const std::string second = scope->step == 1 ? "" : absl::StrCat(",", first + scope->step + text->shift);
  const std::string range = absl::StrCat(first + text->shift, second, "..", last + text->shift);
  return absl::StrReplaceAll(text->text, {{"#", range}});
}

std::string LocalWish(const LayerScope* scope, const std::string& name) {
  const LayerText* const text = TextIn(scope, name);
  return text == nullptr ? name : text->text.substr(text->text.find("#.") + 2);
}

std::string NumberByLayer(const std::map<int64_t, int64_t>& numbers, absl::string_view i) {
  if (const std::optional<std::string> text = InTurns(numbers, i)) return *text;
  std::map<std::pair<int64_t, int64_t>, int> lines;  // Stride and the number of layer 0; how many layers agree.
  for (auto next = numbers.begin(), at = next++; next != numbers.end(); at = next++) {
    const int64_t layers = next->first - at->first;
    if ((next->second - at->second) % layers != 0) continue;
    const int64_t stride = (next->second - at->second) / layers;
    ++lines[{stride, at->second - at->first * stride}];
  }
  if (numbers.size() == 1) lines[{0, numbers.begin()->second}] = 1;
  if (lines.empty()) return "";
  // Of two that fit as many layers the flatter one: a single other number makes the other one steep.
  const auto best = std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    if (a.second != b.second) return a.second < b.second;
    return std::abs(a.first.first) > std::abs(b.first.first);
  });
  const auto& [stride, base] = best->first;
  std::string text;
  int exceptions = 0;
  for (const auto& [layer, number] : numbers) {
    if (number == base + layer * stride) continue;
    if (++exceptions > 2) return "";
    absl::StrAppend(&text, i, " == ", layer, " ? ", number, " : ");
  }
  if (stride == 0) return absl::StrCat(text, base);
  const std::string product = std::abs(stride) == 1 ? std::string(i) : absl::StrCat(i, " * ", std::abs(stride));
  if (base == 0 && stride > 0) return absl::StrCat(text, product);
  return absl::StrCat(text, base, stride > 0 ? " + " : " - ", product);
}

}  // namespace cleave::codegen
