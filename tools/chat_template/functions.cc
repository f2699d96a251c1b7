// Reading guide: three tables, kFilters, kTests and kMethods, and the functions that they name. A function gets the
// value before the `|` or the `.`, and its arguments as `Given`, which finds them by place or by name.
#include "tools/chat_template/functions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "runtime/utf8/utf8.h"

namespace cleave::tools {
namespace {

constexpr const char* kMethodsOfDict[] = {"items", "keys",    "values", "get",        "copy",    "pop",
                                          "clear", "popitem", "update", "setdefault", "fromkeys"};

// The arguments of one call.
class Given {
 public:
  Given(std::string name, const CallArguments& arguments, Progression& progression)
      : progression(progression), name_(std::move(name)), arguments_(arguments) {}

  Progression& progression;

  const std::string& name() const { return name_; }
  size_t count() const { return arguments_.items.size(); }
  const Value& at(size_t place) const { return arguments_.items[place]; }

  // Null where it is not given.
  const Value* Find(size_t place, const std::string& name) const {
    if (place < count()) return &at(place);
    for (const auto& [known, value] : arguments_.named) {
      if (known == name) return &value;
    }
    return nullptr;
  }

  // At most `most` by place, and names of `names` alone.
  bool AreAtMost(size_t most, std::initializer_list<const char*> names = {}) const {
    bool is_right = count() <= most;
    for (const auto& [known, value] : arguments_.named) {
      is_right &= std::any_of(names.begin(), names.end(), [&name = known](const char* each) { return name == each; });
    }
    if (!is_right) progression.Fail(absl::StrCat("`", name_, "` with these arguments is not supported"));
    return is_right;
  }

  // A text that must be there.
  const MarkedText* TextAt(size_t place, const std::string& name) const {
    const Value* const value = Find(place, name);
    const Text* const text = value == nullptr ? nullptr : value->Get<Text>();
    if (text != nullptr) return text->get();
    progression.Fail(absl::StrCat("`", name_, "` needs a text"));
    return nullptr;
  }

  // A whole number; `otherwise` where it is not given or none.
  int64_t WholeAt(size_t place, const std::string& name, int64_t otherwise) const {
    const Value* const value = Find(place, name);
    if (value == nullptr || value->Get<None>() != nullptr) return otherwise;
    if (const int64_t* const whole = value->Get<int64_t>()) return *whole;
    progression.Fail(absl::StrCat("`", name_, "` needs a whole number"));
    return otherwise;
  }

 private:
  std::string name_;
  const CallArguments& arguments_;
};

// Python's str.isspace().
bool IsUnicodeSpace(uint32_t point) {
  return (point >= 9 && point <= 13) || (point >= 0x1C && point <= 0x20) || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

bool IsLineEnd(uint32_t point) {
  return (point >= 10 && point <= 13) || (point >= 0x1C && point <= 0x1E) || point == 0x85 || point == 0x2028 ||
         point == 0x2029;
}

// The text without characters at its sides that are among `characters`, or white space where there are none.
MarkedText Stripped(const MarkedText& text, const MarkedText* characters, bool at_left, bool at_right) {
  std::vector<uint32_t> points;
  for (size_t at = 0; characters != nullptr && at < characters->size();) {
    points.push_back(runtime::ReadUtf8(characters->text(), at));
  }
  const auto goes = [&](uint32_t point) {
    return characters == nullptr ? IsUnicodeSpace(point)
                                 : std::find(points.begin(), points.end(), point) != points.end();
  };
  size_t begin = 0, end = text.size();
  for (size_t next = begin; at_left && begin < end; begin = next) {
    if (!goes(runtime::ReadUtf8(text.text(), next))) break;
  }
  while (at_right && end > begin) {
    size_t last = end - 1;
    while ((static_cast<unsigned char>(text.text()[last]) & 0xC0) == 0x80) --last;
    size_t next = last;
    if (!goes(runtime::ReadUtf8(text.text(), next))) break;
    end = last;
  }
  return text.Part(begin, end);
}

Value Strip(const MarkedText& text, const Given& given, bool at_left, bool at_right) {
  if (!given.AreAtMost(1, {"chars"})) return Value();
  const Value* const value = given.Find(0, "chars");
  const bool is_given = value != nullptr && value->Get<None>() == nullptr;
  const MarkedText* const characters = is_given ? given.TextAt(0, "chars") : nullptr;
  given.progression.Write(text.size());
  // Each character of the sides is compared with each of these.
  if (characters != nullptr && characters->size() > 100) return given.progression.Fail("too many characters to strip");
  return given.progression.Made(Stripped(text, characters, at_left, at_right));
}

// Letters of ASCII in another case.
Value InCase(const MarkedText& text, const Given& given, char (*change)(char c, char before)) {
  if (!given.AreAtMost(0)) return Value();
  if (std::any_of(text.text().begin(), text.text().end(),
                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return given.progression.Fail(absl::StrCat("`", given.name(), "` of characters outside of ASCII is not supported"));
  }
  std::string changed = text.text();
  char before = '\0';
  for (char& c : changed) {
    const char now = c;
    c = change(c, before);
    before = now;
  }
  MarkedText result;
  size_t at = 0;
  for (const MarkedRange& range : text.ranges()) {
    result.Append(changed.substr(at, range.begin - at), MarkedText::kNoMark);
    result.Append(changed.substr(range.begin, range.end - range.begin), range.mark);
    at = range.end;
  }
  result.Append(changed.substr(at), MarkedText::kNoMark);
  return given.progression.Made(std::move(result));
}

char UpperOf(char c, char) { return absl::ascii_toupper(c); }
char LowerOf(char c, char) { return absl::ascii_tolower(c); }
char CapitalOf(char c, char before) { return before == '\0' ? absl::ascii_toupper(c) : absl::ascii_tolower(c); }
char TitleOf(char c, char before) {
  return absl::ascii_isalpha(before) ? absl::ascii_tolower(c) : absl::ascii_toupper(c);
}
// The filter, other than the method, takes hyphens, white space and opening brackets for borders.
char FilterTitleOf(char c, char before) {
  const bool is_border =
      before == '\0' || absl::ascii_isspace(before) || absl::StrContains("-({[<", std::string(1, before));
  return is_border ? absl::ascii_toupper(c) : absl::ascii_tolower(c);
}

Value ReplaceIn(const MarkedText& text, const Given& given) {
  if (!given.AreAtMost(3)) return Value();
  const MarkedText* const old_text = given.TextAt(0, "old");
  const MarkedText* const new_text = given.TextAt(1, "new");
  int64_t left = given.WholeAt(2, "count", -1);
  if (old_text == nullptr || new_text == nullptr) return Value();
  if (old_text->size() == 0) return given.progression.Fail("`replace` of an empty text is not supported");
  MarkedText replaced;
  size_t at = 0;
  while (left != 0 && !given.progression.has_failed()) {
    const size_t found = text.text().find(old_text->text(), at);
    if (found == std::string::npos) break;
    given.progression.Write(new_text->size() + found - at);
    replaced.Append(text.Part(at, found));
    replaced.Append(*new_text);
    at = found + old_text->size();
    --left;
  }
  replaced.Append(text.Part(at, text.size()));
  return given.progression.Made(std::move(replaced));
}

// Between white space; nothing of what is empty.
std::vector<Value> Words(const MarkedText& text, const Given& given) {
  std::vector<Value> words;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t place = at;
    if (!IsUnicodeSpace(runtime::ReadUtf8(text.text(), at))) continue;
    if (begin < place) words.push_back(TextValue(text.Part(begin, place)));
    begin = at;
  }
  if (begin < text.size()) words.push_back(TextValue(text.Part(begin, text.size())));
  given.progression.Write(text.size());
  return words;
}

Value Split(const MarkedText& text, const Given& given, bool from_right) {
  if (!given.AreAtMost(2, {"sep", "maxsplit"})) return Value();
  int64_t left = given.WholeAt(1, "maxsplit", -1);
  const Value* const separator = given.Find(0, "sep");
  if (separator == nullptr || separator->Get<None>() != nullptr) {
    if (left >= 0) return given.progression.Fail("`split` at white space, a few times, is not supported");
    return given.progression.MadeList(Words(text, given));
  }
  const MarkedText* const border = given.TextAt(0, "sep");
  if (border == nullptr) return Value();
  if (border->size() == 0) return given.progression.Fail("`split` at an empty text");
  std::vector<Value> parts;
  size_t begin = 0, end = text.size();
  for (; left != 0 && !given.progression.has_failed(); --left) {
    given.progression.Step();
    if (from_right) {
      const size_t found =
          end < border->size() ? std::string::npos : text.text().rfind(border->text(), end - border->size());
      if (found == std::string::npos) break;
      parts.push_back(TextValue(text.Part(found + border->size(), end)));
      end = found;
    } else {
      const size_t found = text.text().find(border->text(), begin);
      if (found == std::string::npos) break;
      parts.push_back(TextValue(text.Part(begin, found)));
      begin = found + border->size();
    }
  }
  parts.push_back(TextValue(text.Part(begin, end)));
  if (from_right) std::reverse(parts.begin(), parts.end());
  given.progression.Write(text.size());
  return given.progression.MadeList(std::move(parts));
}

// Python's splitlines().
std::vector<MarkedText> LinesOf(const MarkedText& text, Progression& progression) {
  std::vector<MarkedText> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t place = at;
    const uint32_t point = runtime::ReadUtf8(text.text(), at);
    if (!IsLineEnd(point)) continue;
    if (point == '\r' && at < text.size() && text.text()[at] == '\n') ++at;
    lines.push_back(text.Part(begin, place));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.Part(begin, text.size()));
  progression.Write(text.size());
  progression.Step(static_cast<int64_t>(lines.size()));
  return lines;
}

Value SplitLines(const MarkedText& text, const Given& given) {
  if (!given.AreAtMost(0)) return Value();
  std::vector<Value> lines;
  for (MarkedText& line : LinesOf(text, given.progression)) lines.push_back(TextValue(std::move(line)));
  return given.progression.MadeList(std::move(lines));
}

Value StartsOrEndsWith(const MarkedText& text, const Given& given, bool at_end) {
  if (!given.AreAtMost(1) || given.count() == 0)
    return given.progression.Fail(absl::StrCat("`", given.name(), "` needs a text"));
  std::vector<Value> parts = {given.at(0)};
  if (const List* const list = given.at(0).Get<List>()) parts = (*list)->items;
  for (const Value& part : parts) {
    const Text* const each = part.Get<Text>();
    if (each == nullptr) return given.progression.Fail(absl::StrCat("`", given.name(), "` needs a text"));
    if (at_end ? absl::EndsWith(text.text(), (*each)->text()) : absl::StartsWith(text.text(), (*each)->text()))
      return true;
  }
  return false;
}

Value FindIn(const MarkedText& text, const Given& given, bool from_right) {
  if (!given.AreAtMost(1)) return Value();
  const MarkedText* const part = given.TextAt(0, "sub");
  if (part == nullptr) return Value();
  given.progression.Write(text.size());
  const size_t found = from_right ? text.text().rfind(part->text()) : text.text().find(part->text());
  if (found == std::string::npos) return int64_t{-1};
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return int64_t{std::count_if(text.text().begin(), text.text().begin() + static_cast<ptrdiff_t>(found), is_start)};
}

Value CountIn(const MarkedText& text, const Given& given) {
  if (!given.AreAtMost(1)) return Value();
  const MarkedText* const part = given.TextAt(0, "sub");
  if (part == nullptr || part->size() == 0) return given.progression.Fail("`count` of an empty text is not supported");
  int64_t count = 0;
  for (size_t at = 0; (at = text.text().find(part->text(), at)) != std::string::npos; at += part->size()) ++count;
  given.progression.Write(text.size());
  return count;
}

Value RemoveAtSide(const MarkedText& text, const Given& given, bool at_end) {
  if (!given.AreAtMost(1)) return Value();
  const MarkedText* const part = given.TextAt(0, "prefix");
  if (part == nullptr) return Value();
  const bool has_it = at_end ? absl::EndsWith(text.text(), part->text()) : absl::StartsWith(text.text(), part->text());
  const size_t size = has_it ? part->size() : 0;
  return given.progression.Made(text.Part(at_end ? 0 : size, text.size() - (at_end ? size : 0)));
}

Value Joined(const std::vector<Value>& items, const MarkedText& separator, const Given& given) {
  MarkedText joined;
  for (size_t i = 0; i < items.size() && !given.progression.has_failed(); ++i) {
    given.progression.Write(separator.size());
    if (i > 0) joined.Append(separator);
    joined.Append(ShownText(items[i], given.progression));
  }
  return given.progression.Made(std::move(joined));
}

Value JoinBy(const MarkedText& separator, const Given& given) {
  if (!given.AreAtMost(1) || given.count() == 0) return given.progression.Fail("`join` needs a list");
  return Joined(ItemsOf(given.at(0), given.progression), separator, given);
}

Value IsAll(const MarkedText& text, const Given& given, bool (*is)(unsigned char c)) {
  if (!given.AreAtMost(0)) return Value();
  for (const char c : text.text()) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return given.progression.Fail(absl::StrCat("`", given.name(), "` outside of ASCII is not supported"));
    if (!is(static_cast<unsigned char>(c))) return false;
  }
  return text.size() > 0;
}

using Method = Value (*)(const MarkedText& text, const Given& given);

constexpr std::pair<const char*, Method> kMethods[] = {
    {"strip", [](const MarkedText& text, const Given& given) { return Strip(text, given, true, true); }},
    {"lstrip", [](const MarkedText& text, const Given& given) { return Strip(text, given, true, false); }},
    {"rstrip", [](const MarkedText& text, const Given& given) { return Strip(text, given, false, true); }},
    {"split", [](const MarkedText& text, const Given& given) { return Split(text, given, false); }},
    {"rsplit", [](const MarkedText& text, const Given& given) { return Split(text, given, true); }},
    {"splitlines", SplitLines},
    {"startswith", [](const MarkedText& text, const Given& given) { return StartsOrEndsWith(text, given, false); }},
    {"endswith", [](const MarkedText& text, const Given& given) { return StartsOrEndsWith(text, given, true); }},
    {"find", [](const MarkedText& text, const Given& given) { return FindIn(text, given, false); }},
    {"rfind", [](const MarkedText& text, const Given& given) { return FindIn(text, given, true); }},
    {"count", CountIn},
    {"replace", ReplaceIn},
    {"removeprefix", [](const MarkedText& text, const Given& given) { return RemoveAtSide(text, given, false); }},
    {"removesuffix", [](const MarkedText& text, const Given& given) { return RemoveAtSide(text, given, true); }},
    {"join", JoinBy},
    {"upper", [](const MarkedText& text, const Given& given) { return InCase(text, given, UpperOf); }},
    {"lower", [](const MarkedText& text, const Given& given) { return InCase(text, given, LowerOf); }},
    {"capitalize", [](const MarkedText& text, const Given& given) { return InCase(text, given, CapitalOf); }},
    {"title", [](const MarkedText& text, const Given& given) { return InCase(text, given, TitleOf); }},
    {"isdigit", [](const MarkedText& text, const Given& given) { return IsAll(text, given, absl::ascii_isdigit); }},
    {"isspace", [](const MarkedText& text, const Given& given) { return IsAll(text, given, absl::ascii_isspace); }},
};

Value Pairs(const DictValue& dict, Progression& progression) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : dict.members) pairs.push_back(progression.MadeList({Value(key), value}));
  return progression.MadeList(std::move(pairs));
}

Value CallMethodOfDict(const DictValue& dict, const Given& given) {
  if (given.name() == "get") {
    if (!given.AreAtMost(2) || given.count() == 0) return Value();
    const Text* const key = given.at(0).Get<Text>();
    const Value* const found = key == nullptr ? nullptr : dict.Find((*key)->text());
    if (found != nullptr) return *found;
    return given.count() > 1 ? given.at(1) : Value(None{});
  }
  if (!given.AreAtMost(0)) return Value();
  if (given.name() == "items") return Pairs(dict, given.progression);
  std::vector<Value> items;
  if (given.name() == "keys" || given.name() == "values") {
    for (const auto& [key, value] : dict.members) items.push_back(given.name() == "keys" ? Value(key) : value);
    return given.progression.MadeList(std::move(items));
  }
  return given.progression.Fail(absl::StrCat("`.", given.name(), "()` is not supported"));
}

// Filters.

Value Length(const Value& input, const Given& given) {
  if (const Text* const text = input.Get<Text>()) {
    const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    given.progression.Write((*text)->size());
    return int64_t{std::count_if((*text)->text().begin(), (*text)->text().end(), is_start)};
  }
  if (const List* const list = input.Get<List>()) return static_cast<int64_t>((*list)->items.size());
  if (const Dict* const dict = input.Get<Dict>()) return static_cast<int64_t>((*dict)->members.size());
  if (input.IsUndefined()) return int64_t{0};
  return given.progression.Fail(absl::StrCat("the length of ", KindOf(input)));
}

Value ToJson(const Value& input, const Given& given) {
  if (!given.AreAtMost(0, {"indent", "ensure_ascii"})) return Value();
  const Value* const ascii = given.Find(1, "ensure_ascii");
  if (ascii != nullptr && IsTrue(*ascii)) return given.progression.Fail("`ensure_ascii` is not supported");
  JsonStyle style;
  const int64_t indent = given.WholeAt(0, "indent", -1);
  if (indent > 100) return given.progression.Fail("`indent` is too large");
  if (indent >= 0) style.indent = indent;
  given.progression.Step(SizeOf(input) * (1 + std::max<int64_t>(indent, 0)));
  if (given.progression.has_failed()) return Value();
  std::optional<MarkedText> json = JsonOf(input, style);
  if (!json.has_value()) return given.progression.Fail(absl::StrCat("`tojson` of ", KindOf(input)));
  return given.progression.Made(*std::move(json));
}

Value Default(const Value& input, const Given& given) {
  if (!given.AreAtMost(2, {"default_value", "boolean"})) return Value();
  const Value* const boolean = given.Find(1, "boolean");
  const bool is_missing = input.IsUndefined() || (boolean != nullptr && IsTrue(*boolean) && !IsTrue(input));
  if (!is_missing) return input;
  const Value* const otherwise = given.Find(0, "default_value");
  return otherwise == nullptr ? TextValue("") : *otherwise;
}

Value Int(const Value& input, const Given& given) {
  if (!given.AreAtMost(1, {"default"})) return Value();
  if (const bool* const flag = input.Get<bool>()) return int64_t{*flag};
  if (input.Get<int64_t>() != nullptr) return input;
  if (const double* const number = input.Get<double>(); number != nullptr && std::abs(*number) < 0x1p62) {
    return static_cast<int64_t>(*number);
  }
  int64_t whole = 0;
  if (const Text* const text = input.Get<Text>(); text != nullptr && absl::SimpleAtoi((*text)->text(), &whole))
    return whole;
  return given.progression.Fail(absl::StrCat("`int` of ", KindOf(input), " is not supported"));
}

Value FirstOrLast(const Value& input, const Given& given, bool is_last) {
  const std::vector<Value> items = ItemsOf(input, given.progression);
  if (!given.AreAtMost(0) || items.empty()) return Undefined{"item"};
  return is_last ? items.back() : items.front();
}

Value Join(const Value& input, const Given& given) {
  if (!given.AreAtMost(2, {"d", "attribute"})) return Value();
  std::vector<Value> items = ItemsOf(input, given.progression);
  if (const Value* const attribute = given.Find(1, "attribute");
      attribute != nullptr && attribute->Get<None>() == nullptr) {
    for (Value& item : items) item = ItemOf(item, *attribute, given.progression);
  }
  const Value* const separator = given.Find(0, "d");
  return Joined(items, separator == nullptr ? MarkedText() : ShownText(*separator, given.progression), given);
}

Value Reverse(const Value& input, const Given& given) {
  if (!given.AreAtMost(0)) return Value();
  if (input.Get<Text>() != nullptr) return SliceOf(input, Value(), Value(), int64_t{-1}, given.progression);
  std::vector<Value> items = ItemsOf(input, given.progression);
  std::reverse(items.begin(), items.end());
  return given.progression.MadeList(std::move(items));
}

Value Map(const Value& input, const Given& given) {
  const Value* const attribute = given.Find(1, "attribute");
  std::vector<Value> items = ItemsOf(input, given.progression);
  if (given.count() == 0 && attribute != nullptr) {
    if (!given.AreAtMost(0, {"attribute"})) return Value();
    for (Value& item : items) item = ItemOf(item, *attribute, given.progression);
    return given.progression.MadeList(std::move(items));
  }
  const MarkedText* const name = given.TextAt(0, "name");
  if (name == nullptr || !given.AreAtMost(SIZE_MAX)) return Value();
  if (name->text() == "map") return given.progression.Fail("`map` of `map` is not supported");
  CallArguments rest;
  for (size_t i = 1; i < given.count(); ++i) rest.items.push_back(given.at(i));
  for (Value& item : items) item = ApplyFilter(name->text(), item, rest, given.progression);
  return given.progression.MadeList(std::move(items));
}

// Of select and its relatives: whether an attribute is tested, and whether what passes is kept.
Value Selected(const Value& input, const Given& given, bool has_attribute, bool keeps) {
  if (!given.AreAtMost(SIZE_MAX)) return Value();
  const size_t first = has_attribute ? 1 : 0;
  if (given.count() < first) return given.progression.Fail(absl::StrCat("`", given.name(), "` needs an attribute"));
  const MarkedText* const test = given.count() > first ? given.TextAt(first, "") : nullptr;
  CallArguments rest;
  for (size_t i = first + 1; i < given.count(); ++i) rest.items.push_back(given.at(i));
  std::vector<Value> selected;
  for (const Value& item : ItemsOf(input, given.progression)) {
    const Value tested = has_attribute ? ItemOf(item, given.at(0), given.progression) : item;
    const bool passes = test == nullptr ? IsTrue(tested) : ApplyTest(test->text(), tested, rest, given.progression);
    if (given.progression.has_failed()) return Value();
    if (passes == keeps) selected.push_back(item);
  }
  return given.progression.MadeList(std::move(selected));
}

// The pairs of a dictionary by their keys, in any case of letters.
Value DictSort(const Value& input, const Given& given) {
  const Dict* const dict = input.Get<Dict>();
  if (!given.AreAtMost(0)) return Value();
  if (dict == nullptr) return given.progression.Fail(absl::StrCat("`dictsort` of ", KindOf(input)));
  DictValue sorted = **dict;
  given.progression.Step(SizeOf(input));
  const auto is_before = [](const auto& a, const auto& b) {
    return absl::AsciiStrToLower(a.first->text()) < absl::AsciiStrToLower(b.first->text());
  };
  std::stable_sort(sorted.members.begin(), sorted.members.end(), is_before);
  return Pairs(sorted, given.progression);
}

// The lines of a text but the first, `width` spaces further to the right; empty ones are left alone.
Value Indent(const Value& input, const Given& given) {
  if (!given.AreAtMost(1, {"width"})) return Value();
  const int64_t width = given.WholeAt(0, "width", 4);
  if (width < 0 || width > 100) return given.progression.Fail("`indent` is out of range");
  MarkedText text = ShownText(input, given.progression);
  text.Append("\n", MarkedText::kNoMark);
  MarkedText result;
  bool is_first = true;
  for (const MarkedText& line : LinesOf(text, given.progression)) {
    given.progression.Write(line.size() + static_cast<size_t>(width));
    if (!is_first) result.Append("\n", MarkedText::kNoMark);
    if (!is_first && line.size() > 0) result.Append(std::string(static_cast<size_t>(width), ' '), MarkedText::kNoMark);
    result.Append(line);
    is_first = false;
  }
  return given.progression.Made(std::move(result));
}

using Filter = Value (*)(const Value& input, const Given& given);

template <Value (*method)(const MarkedText& text, const Given& given)>
Value OfText(const Value& input, const Given& given) {
  return method(ShownText(input, given.progression), given);
}

Value StripBoth(const MarkedText& text, const Given& given) { return Strip(text, given, true, true); }
Value InUpper(const MarkedText& text, const Given& given) { return InCase(text, given, UpperOf); }
Value InLower(const MarkedText& text, const Given& given) { return InCase(text, given, LowerOf); }
Value InCapital(const MarkedText& text, const Given& given) { return InCase(text, given, CapitalOf); }
Value InTitle(const MarkedText& text, const Given& given) { return InCase(text, given, FilterTitleOf); }

constexpr std::pair<const char*, Filter> kFilters[] = {
    {"trim", OfText<StripBoth>},
    {"tojson", ToJson},
    {"length", Length},
    {"count", Length},
    {"upper", OfText<InUpper>},
    {"lower", OfText<InLower>},
    {"capitalize", OfText<InCapital>},
    {"title", OfText<InTitle>},
    {"replace", OfText<ReplaceIn>},
    {"string", [](const Value& input, const Given& given) { return TextValue(ShownText(input, given.progression)); }},
    {"safe", [](const Value& input, const Given&) { return input; }},
    {"int", Int},
    {"default", Default},
    {"d", Default},
    {"first", [](const Value& input, const Given& given) { return FirstOrLast(input, given, false); }},
    {"last", [](const Value& input, const Given& given) { return FirstOrLast(input, given, true); }},
    {"list", [](const Value& input,
                const Given& given) { return given.progression.MadeList(ItemsOf(input, given.progression)); }},
    {"items",
     [](const Value& input, const Given& given) {
       if (input.IsUndefined()) return given.progression.MadeList({});
       const Dict* const dict = input.Get<Dict>();
       return dict != nullptr ? Pairs(**dict, given.progression)
                              : given.progression.Fail(absl::StrCat("`items` of ", KindOf(input)));
     }},
    {"dictsort", DictSort},
    {"join", Join},
    {"reverse", Reverse},
    {"map", Map},
    {"select", [](const Value& input, const Given& given) { return Selected(input, given, false, true); }},
    {"reject", [](const Value& input, const Given& given) { return Selected(input, given, false, false); }},
    {"selectattr", [](const Value& input, const Given& given) { return Selected(input, given, true, true); }},
    {"rejectattr", [](const Value& input, const Given& given) { return Selected(input, given, true, false); }},
    {"indent", Indent},
};

// Tests.

template <typename... Types>
bool IsOneOf(const Value& input, const Given&) {
  return ((input.Get<Types>() != nullptr) || ...);
}

bool IsSignOf(const char* sign, const Value& input, const Given& given) {
  if (given.count() == 1) return Compare(sign, input, given.at(0), given.progression);
  given.progression.Fail(absl::StrCat("`", given.name(), "` needs one argument"));
  return false;
}

bool IsRest(const Value& input, const Given& given, int64_t divisor, int64_t rest) {
  const int64_t* const whole = input.Get<int64_t>();
  if (whole != nullptr && divisor != 0) return *whole % divisor == rest || *whole % divisor == -rest;
  given.progression.Fail(absl::StrCat("`", given.name(), "` of ", KindOf(input)));
  return false;
}

using Test = bool (*)(const Value& input, const Given& given);

constexpr std::pair<const char*, Test> kTests[] = {
    {"defined", [](const Value& input, const Given&) { return !input.IsUndefined(); }},
    {"undefined", IsOneOf<Undefined>},
    {"none", IsOneOf<None>},
    {"string", IsOneOf<Text>},
    {"mapping", IsOneOf<Dict>},
    {"iterable", IsOneOf<Text, List, Dict, Undefined>},
    {"sequence", IsOneOf<Text, List, Dict, Undefined>},
    {"number", IsOneOf<bool, int64_t, double>},
    {"integer", IsOneOf<int64_t>},
    {"float", IsOneOf<double>},
    {"boolean", IsOneOf<bool>},
    {"true", [](const Value& input, const Given&) { return input.Get<bool>() != nullptr && *input.Get<bool>(); }},
    {"false", [](const Value& input, const Given&) { return input.Get<bool>() != nullptr && !*input.Get<bool>(); }},
    {"callable", IsOneOf<Macro, Function>},
    {"odd", [](const Value& input, const Given& given) { return IsRest(input, given, 2, 1); }},
    {"even", [](const Value& input, const Given& given) { return IsRest(input, given, 2, 0); }},
    {"divisibleby",
     [](const Value& input, const Given& given) { return IsRest(input, given, given.WholeAt(0, "", 0), 0); }},
    {"in", [](const Value& input,
              const Given& given) { return given.count() == 1 && IsIn(input, given.at(0), given.progression); }},
    {"equalto", [](const Value& input, const Given& given) { return IsSignOf("==", input, given); }},
    {"eq", [](const Value& input, const Given& given) { return IsSignOf("==", input, given); }},
    {"==", [](const Value& input, const Given& given) { return IsSignOf("==", input, given); }},
    {"ne", [](const Value& input, const Given& given) { return IsSignOf("!=", input, given); }},
    {"!=", [](const Value& input, const Given& given) { return IsSignOf("!=", input, given); }},
    {"lt", [](const Value& input, const Given& given) { return IsSignOf("<", input, given); }},
    {"gt", [](const Value& input, const Given& given) { return IsSignOf(">", input, given); }},
};

template <typename Table>
auto FindIn(const Table& table, const std::string& name) -> decltype(table[0].second) {
  for (const auto& [known, function] : table) {
    if (name == known) return function;
  }
  return nullptr;
}

// "`{{ x | sort }}` is not supported"
template <typename Table>
void FailUnknown(const Table& table, const char* what, const std::string& name, Progression& progression) {
  std::vector<std::string> names;
  for (const auto& [known, function] : table) names.emplace_back(known);
  const std::optional<std::string> nearest = NearestName(name, names);
  progression.Fail(absl::StrCat("the ", what, " `", name, "` is not supported",
                                nearest.has_value() ? absl::StrCat("; there is `", *nearest, "`") : ""));
}

Value Range(const Given& given) {
  if (!given.AreAtMost(3) || given.count() == 0) return given.progression.Fail("`range` needs a number");
  const int64_t begin = given.count() == 1 ? 0 : given.WholeAt(0, "", 0);
  const int64_t end = given.WholeAt(given.count() == 1 ? 0 : 1, "", 0), step = given.WholeAt(2, "", 1);
  if (step == 0) return given.progression.Fail("`range` with step 0");
  std::vector<Value> items;
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    given.progression.Step();
    if (given.progression.has_failed()) return Value();
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return given.progression.MadeList(std::move(items));
}

// A date as strftime writes it in the locale of C. Empty where that is too long.
std::string DateText(const std::string& format, const std::tm& date) {
  char buffer[200];
  return std::string(buffer, std::strftime(buffer, sizeof buffer, format.c_str(), &date));
}

}  // namespace

bool IsMethodOfDict(const std::string& name) {
  return std::any_of(std::begin(kMethodsOfDict), std::end(kMethodsOfDict),
                     [&](const char* each) { return name == each; });
}

std::optional<Value> CallMethod(const Value& object, const std::string& name, const CallArguments& arguments,
                                Progression& progression) {
  const Given given(name, arguments, progression);
  progression.Step();
  if (const Text* const text = object.Get<Text>()) {
    if (const Method method = FindIn(kMethods, name)) return method(**text, given);
    FailUnknown(kMethods, "method", name, progression);
    return Value();
  }
  const Dict* const dict = object.Get<Dict>();
  if (dict == nullptr || !IsMethodOfDict(name)) return std::nullopt;
  return CallMethodOfDict(**dict, given);
}

Value ApplyFilter(const std::string& name, const Value& input, const CallArguments& arguments,
                  Progression& progression) {
  progression.Step();
  if (progression.has_failed()) return Value();
  if (const Filter filter = FindIn(kFilters, name)) return filter(input, Given(name, arguments, progression));
  FailUnknown(kFilters, "filter", name, progression);
  return Value();
}

bool ApplyTest(const std::string& name, const Value& input, const CallArguments& arguments, Progression& progression) {
  progression.Step();
  if (progression.has_failed()) return false;
  if (const Test test = FindIn(kTests, name)) return test(input, Given(name, arguments, progression));
  FailUnknown(kTests, "test", name, progression);
  return false;
}

Value CallFunction(Function function, const CallArguments& arguments, const RenderOptions& options,
                   Progression& progression) {
  switch (function) {
    case Function::kRange:
      return Range(Given("range", arguments, progression));
    case Function::kNamespace: {
      auto names = std::make_shared<NamespaceValue>();
      if (!arguments.items.empty())
        return progression.Fail("`namespace` with a value that has no name is not supported");
      for (const auto& [name, value] : arguments.named) names->members[name] = value;
      return Namespace(std::move(names));
    }
    case Function::kDict: {
      if (!arguments.items.empty()) return progression.Fail("`dict` with a value that has no name is not supported");
      std::vector<std::pair<Text, Value>> members;
      for (const auto& [name, value] : arguments.named) {
        members.emplace_back(std::make_shared<const MarkedText>(name), value);
      }
      std::optional<Value> dict = MakeDict(std::move(members));
      return dict.has_value() ? *std::move(dict)
                              : progression.Fail("a dictionary that is nested too deep or too large");
    }
    case Function::kRaiseException: {
      const Given given("raise_exception", arguments, progression);
      const MarkedText* const message = given.TextAt(0, "message");
      if (message == nullptr) return Value();
      return progression.Fail(absl::StrCat("the template refuses this: ", message->text().substr(0, 500)));
    }
    case Function::kStrftimeNow:
      break;
  }
  const Given given("strftime_now", arguments, progression);
  const MarkedText* const format = given.TextAt(0, "format");
  if (format == nullptr) return Value();
  if (!options.date.has_value()) return progression.Fail("the template writes today's date, and none is given");
  return TextValue(DateText(format->text(), *options.date));
}

}  // namespace cleave::tools
