#include "runtime/json/json.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <iterator>

#include "runtime/json/json_writer.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr int kDeepest = 64;

// Recursive descent; every function returns false where the text is not what JSON allows there.
class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  bool Document(Json& value) {
    if (!Value(value, 0)) return false;
    SkipSpace();
    return at_ == end_;
  }

  // How far the text was read.
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }

  // What is wrong there.
  const std::string& mistake() const { return mistake_; }

 private:
  void SkipSpace() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }

  bool Take(char expected) {
    SkipSpace();
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }

  bool Word(const char* word) {
    const size_t length = std::strlen(word);
    if (static_cast<size_t>(end_ - at_) < length || std::memcmp(at_, word, length) != 0) return false;
    at_ += length;
    return true;
  }

  bool Value(Json& value, int depth) {
    SkipSpace();
    if (at_ == end_ || depth > kDeepest) return false;
    value.offset = offset();
    switch (*at_) {
      case '{':
        return Object(value, depth);
      case '[':
        return Array(value, depth);
      case '"':
        value.kind = Json::Kind::kString;
        return String(value.text);
      case 'n':
        return Word("null");
      case 't':
      case 'f':
        value.kind = Json::Kind::kBool;
        value.text = *at_ == 't' ? "true" : "false";
        return Word(value.text.c_str());
      default:
        value.kind = Json::Kind::kNumber;
        return Number(value.text);
    }
  }

  bool Object(Json& value, int depth) {
    value.kind = Json::Kind::kObject;
    ++at_;
    if (Take('}')) return true;
    do {
      SkipSpace();
      auto& [name, member] = value.members.emplace_back();
      if (!String(name) || !Take(':') || !Value(member, depth + 1)) return false;
    } while (Take(','));
    return Take('}') && SortMembers(value);
  }

  // Of members with the same name, the one that stands later in the text comes later.
  bool SortMembers(Json& object) {
    const auto is_before = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::stable_sort(object.members.begin(), object.members.end(), is_before);
    const auto twice = std::adjacent_find(object.members.begin(), object.members.end(),
                                          [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice == object.members.end()) return true;
    mistake_ = "has the member `" + JsonEscaped(twice->name) + "` twice, at ";
    at_ = begin_ + std::next(twice)->value.offset;
    return false;
  }

  bool Array(Json& value, int depth) {
    value.kind = Json::Kind::kArray;
    ++at_;
    if (Take(']')) return true;
    do {
      if (!Value(value.items.emplace_back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']');
  }

  bool Digits() {
    const char* const begin = at_;
    while (at_ < end_ && std::isdigit(static_cast<unsigned char>(*at_)) != 0) ++at_;
    return at_ > begin;
  }

  bool Number(std::string& text) {
    const char* const begin = at_;
    if (at_ < end_ && *at_ == '-') ++at_;
    const char* const first = at_;
    if (!Digits() || (*first == '0' && at_ - first > 1)) return false;
    if (at_ < end_ && *at_ == '.') {
      ++at_;
      if (!Digits()) return false;
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!Digits()) return false;
    }
    text.assign(begin, at_);
    return true;
  }

  bool Hex4(uint32_t& unit) {
    unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == end_ || std::isxdigit(static_cast<unsigned char>(*at_)) == 0) return false;
      const char digit = static_cast<char>(std::tolower(static_cast<unsigned char>(*at_)));
      unit = unit * 16 + static_cast<uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return true;
  }

  // The characters behind `\u`; a character outside of the basic plane takes two such codes.
  bool CodePoint(std::string& text) {
    uint32_t point = 0;
    if (!Hex4(point)) return false;
    if (point >= 0xD800 && point < 0xDC00) {
      uint32_t low = 0;
      if (!Word("\\u") || !Hex4(low) || low < 0xDC00 || low >= 0xE000) return false;
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    } else if (point >= 0xDC00 && point < 0xE000) {
      return false;
    }
    AppendUtf8(point, text);
    return true;
  }

  bool String(std::string& text) {
    if (!Word("\"")) return false;
    while (at_ < end_ && *at_ != '"') {
      const char c = *at_++;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        text += c;
        continue;
      }
      if (at_ == end_) return false;
      const char escaped = *at_++;
      static constexpr char kNames[] = "\"\\/bfnrt";
      static constexpr char kMeanings[] = "\"\\/\b\f\n\r\t";
      const char* const name = escaped == '\0' ? nullptr : std::strchr(kNames, escaped);
      if (name != nullptr) {
        text += kMeanings[name - kNames];
      } else if (escaped != 'u' || !CodePoint(text)) {
        return false;
      }
    }
    return Word("\"");
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  std::string mistake_ = "is not valid JSON at ";
};

Error Wrong(const std::string& message) { return {ExitCode::kInput, message}; }

Error HasNo(const std::string& name) { return Wrong("has no `" + JsonEscaped(name) + "`"); }

Error NotA(const std::string& name, const char* expected) {
  return Wrong("has a `" + JsonEscaped(name) + "` that is not " + expected);
}

// A member whose kind is called `expected`.
Result<const Json*> MemberOf(const Json& object, const std::string& name, Json::Kind kind, const char* expected) {
  const Json* const member = object.Find(name);
  if (member == nullptr) return HasNo(name);
  if (member->kind != kind) return NotA(name, expected);
  return member;
}

}  // namespace

const Json* Json::Find(const std::string& name) const {
  const auto found = std::lower_bound(members.begin(), members.end(), name,
                                      [](const auto& member, const std::string& text) { return member.name < text; });
  return found != members.end() && found->name == name ? &found->value : nullptr;
}

std::string PlaceIn(const std::string& text, size_t offset) {
  const auto end = text.begin() + static_cast<int64_t>(std::min(offset, text.size()));
  const auto line = std::find(std::make_reverse_iterator(end), text.rend(), '\n').base();
  const auto column =
      std::count_if(line, end, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }) + 1;
  return Format("line %td, column %td", std::count(text.begin(), end, '\n') + 1, column);
}

Result<Json> ParseJson(const std::string& text) {
  Json value;
  JsonReader reader(text);
  if (reader.Document(value)) return value;
  return Wrong(reader.mistake() + PlaceIn(text, reader.offset()));
}

std::optional<int64_t> JsonInteger(const Json& value) {
  if (value.kind != Json::Kind::kNumber) return std::nullopt;
  int64_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

Result<int64_t> IntegerMember(const Json& object, const std::string& name) {
  const Json* const member = object.Find(name);
  if (member == nullptr) return HasNo(name);
  const std::optional<int64_t> number = JsonInteger(*member);
  if (!number.has_value()) return NotA(name, "a whole number of 64 bits");
  return *number;
}

Result<std::vector<int64_t>> IntegersMember(const Json& object, const std::string& name) {
  constexpr char kExpected[] = "an array of whole numbers of 64 bits";
  const Result<const Json*> array = MemberOf(object, name, Json::Kind::kArray, kExpected);
  if (!array.ok()) return array.error();
  std::vector<int64_t> numbers;
  for (const Json& item : array.value()->items) {
    const std::optional<int64_t> number = JsonInteger(item);
    if (!number.has_value()) return NotA(name, kExpected);
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::string> StringMember(const Json& object, const std::string& name) {
  const Result<const Json*> member = MemberOf(object, name, Json::Kind::kString, "a string");
  if (!member.ok()) return member.error();
  return member.value()->text;
}

Result<const Json*> ArrayMember(const Json& object, const std::string& name) {
  return MemberOf(object, name, Json::Kind::kArray, "an array");
}

Result<const Json*> ObjectMember(const Json& object, const std::string& name) {
  return MemberOf(object, name, Json::Kind::kObject, "an object");
}

}  // namespace cleave::runtime
