#include "base/json/json_place.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace cleave {
namespace {

// Walks over the text of a document, which is JSON: brackets outside of strings match, and commas stand between items.
class Walker {
 public:
  explicit Walker(absl::string_view text) : text_(text) {}

  size_t SkipSpace(size_t at) const {
    while (at < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at]))) ++at;
    return at;
  }

  // The end of the string that begins at `at`.
  size_t StringEnd(size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at) at += text_[at] == '\\' ? 1 : 0;
    return std::min(at + 1, text_.size());
  }

  // The end of the value that begins at `at`.
  size_t ValueEnd(size_t at) const {
    int depth = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
      at = c == '"' ? StringEnd(at) : at + 1;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return at;
  }

  // The value of a field of the object at `at`.
  std::optional<size_t> Field(size_t at, absl::string_view name) const {
    if (text_[at] != '{') return std::nullopt;
    for (at = SkipSpace(at + 1); at < text_.size() && text_[at] == '"';) {
      const size_t key_end = StringEnd(at);
      const absl::string_view key = text_.substr(at + 1, key_end - at - 2);
      const size_t value = SkipSpace(SkipSpace(key_end) + 1);
      if (key == name) return value;
      at = Next(value);
    }
    return std::nullopt;
  }

  // Item `index` of the list at `at`; or, where `name` is given, the item with that name.
  std::optional<size_t> Item(size_t at, size_t index, std::optional<absl::string_view> name) const {
    if (text_[at] != '[') return std::nullopt;
    at = SkipSpace(at + 1);
    for (size_t i = 0; at < text_.size() && text_[at] != ']'; ++i, at = Next(at)) {
      if (!name.has_value() && i == index) return at;
      const std::optional<size_t> its_name = name.has_value() ? Field(at, "name") : std::nullopt;
      if (its_name.has_value() && absl::StartsWith(text_.substr(*its_name), absl::StrCat("\"", *name, "\""))) return at;
    }
    return std::nullopt;
  }

 private:
  // The item behind the one at `at`, or the bracket behind the last one.
  size_t Next(size_t at) const {
    at = SkipSpace(ValueEnd(at));
    return at < text_.size() && text_[at] == ',' ? SkipSpace(at + 1) : at;
  }

  const absl::string_view text_;
};

// Takes "[3]" or "[`relu`]" from the front of a path; nullopt if `at` has no such item.
std::optional<size_t> TakeItem(const Walker& walker, size_t at, absl::string_view& where) {
  const bool is_named = absl::ConsumePrefix(&where, "[`");
  if (!is_named) where.remove_prefix(1);
  const size_t end = where.find(is_named ? "`]" : "]");
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view content = where.substr(0, end);
  where.remove_prefix(end + (is_named ? 2 : 1));
  if (is_named) return walker.Item(at, 0, content);
  size_t index = 0;
  return absl::SimpleAtoi(content, &index) ? walker.Item(at, index, std::nullopt) : std::nullopt;
}

}  // namespace

std::string LineAndColumn(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0.
  const auto column = std::count_if(before.begin() + static_cast<int64_t>(line_start), before.end(),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return absl::StrCat("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ", column + 1);
}

size_t FindJsonPlace(absl::string_view text, absl::string_view where) {
  const Walker walker(text);
  size_t at = walker.SkipSpace(0);
  for (bool is_first = true; !where.empty() && at < text.size(); is_first = false) {
    std::optional<size_t> next;
    if (where[0] == '[') {
      next = TakeItem(walker, at, where);
    } else {
      const absl::string_view name = where.substr(0, where.find_first_of(".["));
      where.remove_prefix(name.size());
      next = walker.Field(at, name);
      if (is_first && !next.has_value()) next = at;
    }
    if (!next.has_value()) return at;
    at = *next;
    absl::ConsumePrefix(&where, ".");
  }
  return at;
}

size_t FindJsonKey(absl::string_view text, size_t keys) {
  const Walker walker(text);
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '"') {
      ++at;
      continue;
    }
    const size_t end = walker.StringEnd(at);
    const size_t behind = walker.SkipSpace(end);
    if (behind < text.size() && text[behind] == ':' && keys-- == 0) return at;
    at = end;
  }
  return text.size();
}

}  // namespace cleave
