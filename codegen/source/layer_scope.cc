#include "codegen/source/layer_scope.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

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

// `value`, but in some layers another one: "layer.i == 0 ? 6 : 8".
template <typename Other>
cpp::Expr ExceptIn(const LayerScope& scope, const std::map<int64_t, Other>& others, cpp::Expr value,
                   cpp::Expr (*expr_of)(const Other& other)) {
  for (auto other = others.rbegin(); other != others.rend(); ++other) {
    value = cpp::Choice(cpp::Infix(scope.number, "==", other->first), expr_of(other->second), value);
  }
  return value;
}

}  // namespace

cpp::Expr OpNameOf(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = TextIn(scope, name);
  if (text == nullptr) return cpp::String(name);
  const std::vector<cpp::Expr> arguments = {cpp::String(text->text), cpp::Shifted(scope->number, text->shift)};
  if (text->exceptions.empty()) return cpp::Braces(arguments);
  return ExceptIn<std::string>(*scope, text->exceptions, cpp::Call("OpName", arguments),
                               [](const std::string& other) { return cpp::Call("OpName", {cpp::String(other)}); });
}

cpp::Expr LineOf(const LayerScope* scope, const std::string& name, int line) {
  const NameForm* const text = Find(scope, name);
  if (text == nullptr) return line;
  return ExceptIn<int>(*scope, text->other_lines, text->line, [](const int& other) { return cpp::Expr(other); });
}

std::string NameOfAll(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = Find(scope, name);
  return text == nullptr ? name : text->text;
}

int ShownLine(const LayerScope* scope, const std::string& name, int line) {
  const NameForm* const text = Find(scope, name);
  return text == nullptr ? line : text->line;
}

cpp::Expr NameString(const LayerScope* scope, const std::string& name) {
  const NameForm* const text = TextIn(scope, name);
  const cpp::Expr op = OpNameOf(scope, name);
  if (text == nullptr) return op;
  const bool is_list = text->exceptions.empty();
  return (is_list ? cpp::Braces(cpp::Name("OpName"), op.node().operands) : op).Call("ToString");
}

cpp::Expr NameCharacters(const LayerScope* scope, const std::string& name) {
  const cpp::Expr string = NameString(scope, name);
  return TextIn(scope, name) == nullptr ? string : string.Call("c_str");
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
