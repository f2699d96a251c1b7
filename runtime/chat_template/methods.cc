// Reading guide: kMethods is the table of the methods of texts, and above it stand the functions that it names. A
// function gets the text and its arguments as `Given`, which finds them by place or by name.
#include "runtime/chat_template/methods.h"

#include <cstring>

#include "runtime/chat_template/ascii.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr const char* kMethodsOfDict[] = {"items", "keys",    "values", "get",        "copy",    "pop",
                                          "clear", "popitem", "update", "setdefault", "fromkeys"};

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
    points.push_back(ReadUtf8(characters->text(), at));
  }
  const auto goes = [&](uint32_t point) {
    return characters == nullptr ? IsUnicodeSpace(point)
                                 : std::find(points.begin(), points.end(), point) != points.end();
  };
  size_t begin = 0, end = text.size();
  for (size_t next = begin; at_left && begin < end; begin = next) {
    if (!goes(ReadUtf8(text.text(), next))) break;
  }
  while (at_right && end > begin) {
    size_t last = end - 1;
    while ((static_cast<unsigned char>(text.text()[last]) & 0xC0) == 0x80) --last;
    size_t next = last;
    if (!goes(ReadUtf8(text.text(), next))) break;
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
    return given.progression.Fail(Concat("`", given.name(), "` of characters outside of ASCII is not supported"));
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

char UpperOf(char c, char) { return ToUpper(c); }
char LowerOf(char c, char) { return ToLower(c); }
char CapitalOf(char c, char before) { return before == '\0' ? ToUpper(c) : ToLower(c); }
char TitleOf(char c, char before) { return IsLetter(before) ? ToLower(c) : ToUpper(c); }
// The filter, other than the method, takes hyphens, white space and opening brackets for borders.
char FilterTitleOf(char c, char before) {
  const bool is_border = before == '\0' || IsSpace(before) || std::strchr("-({[<", before) != nullptr;
  return is_border ? ToUpper(c) : ToLower(c);
}

// Between white space; nothing of what is empty.
std::vector<Value> Words(const MarkedText& text, const Given& given) {
  std::vector<Value> words;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t place = at;
    if (!IsUnicodeSpace(ReadUtf8(text.text(), at))) continue;
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

Value SplitLines(const MarkedText& text, const Given& given) {
  if (!given.AreAtMost(0)) return Value();
  std::vector<Value> lines;
  for (MarkedText& line : LinesOf(text, given.progression)) lines.push_back(TextValue(std::move(line)));
  return given.progression.MadeList(std::move(lines));
}

Value StartsOrEndsWith(const MarkedText& text, const Given& given, bool at_end) {
  if (!given.AreAtMost(1) || given.count() == 0)
    return given.progression.Fail(Concat("`", given.name(), "` needs a text"));
  std::vector<Value> parts = {given.at(0)};
  if (const List* const list = given.at(0).Get<List>()) parts = (*list)->items;
  for (const Value& part : parts) {
    const Text* const each = part.Get<Text>();
    if (each == nullptr) return given.progression.Fail(Concat("`", given.name(), "` needs a text"));
    if (at_end ? EndsWith(text.text(), (*each)->text()) : BeginsWith(text.text(), (*each)->text())) return true;
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
  const bool has_it = at_end ? EndsWith(text.text(), part->text()) : BeginsWith(text.text(), part->text());
  const size_t size = has_it ? part->size() : 0;
  return given.progression.Made(text.Part(at_end ? 0 : size, text.size() - (at_end ? size : 0)));
}

Value JoinBy(const MarkedText& separator, const Given& given) {
  if (!given.AreAtMost(1) || given.count() == 0) return given.progression.Fail("`join` needs a list");
  return Joined(ItemsOf(given.at(0), given.progression), separator, given);
}

Value IsAll(const MarkedText& text, const Given& given, bool (*is)(char c)) {
  if (!given.AreAtMost(0)) return Value();
  for (const char c : text.text()) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return given.progression.Fail(Concat("`", given.name(), "` outside of ASCII is not supported"));
    if (!is(c)) return false;
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
    {"isdigit", [](const MarkedText& text, const Given& given) { return IsAll(text, given, IsDigit); }},
    {"isspace", [](const MarkedText& text, const Given& given) { return IsAll(text, given, IsSpace); }},
};

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
  return given.progression.Fail(Concat("`.", given.name(), "()` is not supported"));
}

}  // namespace

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

std::vector<MarkedText> LinesOf(const MarkedText& text, Progression& progression) {
  std::vector<MarkedText> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t place = at;
    const uint32_t point = ReadUtf8(text.text(), at);
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

Value Joined(const std::vector<Value>& items, const MarkedText& separator, const Given& given) {
  MarkedText joined;
  for (size_t i = 0; i < items.size() && !given.progression.has_failed(); ++i) {
    given.progression.Write(separator.size());
    if (i > 0) joined.Append(separator);
    joined.Append(ShownText(items[i], given.progression));
  }
  return given.progression.Made(std::move(joined));
}

Value Pairs(const DictValue& dict, Progression& progression) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : dict.members) pairs.push_back(progression.MadeList({Value(key), value}));
  return progression.MadeList(std::move(pairs));
}

Value StripBoth(const MarkedText& text, const Given& given) { return Strip(text, given, true, true); }
Value InUpper(const MarkedText& text, const Given& given) { return InCase(text, given, UpperOf); }
Value InLower(const MarkedText& text, const Given& given) { return InCase(text, given, LowerOf); }
Value InCapital(const MarkedText& text, const Given& given) { return InCase(text, given, CapitalOf); }
Value InTitle(const MarkedText& text, const Given& given) { return InCase(text, given, FilterTitleOf); }

bool IsMethodOfDict(const std::string& name) {
  return std::any_of(std::begin(kMethodsOfDict), std::end(kMethodsOfDict),
                     [&](const char* each) { return name == each; });
}

std::optional<Value> CallMethod(const Value& object, const std::string& name, const CallArguments& arguments,
                                Progression& progression) {
  const Given given(name, arguments, progression);
  progression.Step();
  if (const Text* const text = object.Get<Text>()) {
    if (const Method method = FindNamed(kMethods, name)) return method(**text, given);
    FailUnknown("method", name, progression);
    return Value();
  }
  const Dict* const dict = object.Get<Dict>();
  if (dict == nullptr || !IsMethodOfDict(name)) return std::nullopt;
  return CallMethodOfDict(**dict, given);
}

}  // namespace cleave::runtime
