#include "codegen/source/layer_scope.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/emit/text.h"

namespace cleave::codegen {
namespace {

const NameForm* Find(const LayerScope* scope, const std::string& name) {
  if (scope == nullptr) return nullptr;
  const auto found = scope->names.find(name);
  return found == scope->names.end() ? nullptr : &found->second;
}

// Null for a name that is the same in all layers.
const NameForm* TextIn(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = Find(scope, name);
  return text == nullptr || text->text.find('#') == std::string::npos ? nullptr : text;
}

// "layer.i - 1"
std::string ShiftedNumber(const LayerScope& scope, int64_t shift) {
  if (shift == 0) return scope.number;
  return absl::StrCat(scope.number, shift > 0 ? " + " : " - ", std::abs(shift));
}

}  // namespace

std::string OpNameText(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = TextIn(scope, name);
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
  const NameForm* const text = Find(scope, name);
  if (text == nullptr) return absl::StrCat(line);
  std::string choice;
  for (const auto& [layer, other] : text->other_lines) {
    absl::StrAppend(&choice, scope->number, " == ", layer, " ? ", other, " : ");
  }
  return absl::StrCat(choice, text->line);
}

std::string NameOfAll(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = Find(scope, name);
  return text == nullptr ? name : text->text;
}

int ShownLine(const LayerScope* scope, const std::string& name, int line) {
  const NameForm* const text = Find(scope, name);
  return text == nullptr ? line : text->line;
}

std::string NameStringText(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = TextIn(scope, name);
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
  const NameForm* const text = TextIn(scope, name);
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
  const NameForm* const text = TextIn(scope, name);
  return text == nullptr ? name : text->text.substr(text->text.find("#.") + 2);
}

}  // namespace cleave::codegen
