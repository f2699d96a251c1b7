// Reading guide: how values are made (`MakeList`, `ValueOfJson`), compared (`AreEqual`) and written (`TextOf`,
// `JsonOf`).
#include "runtime/chat_template/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/chat_template/ascii.h"

namespace cleave::runtime {
namespace {

int DepthOf(const Value& value) {
  if (const List* const list = value.Get<List>()) return (*list)->depth;
  if (const Dict* const dict = value.Get<Dict>()) return (*dict)->depth;
  return 0;
}

// Counts what is to be held together.
class Holding {
 public:
  void Add(const Value& value) {
    is_allowed_ &= value.Get<Namespace>() == nullptr && value.Get<Macro>() == nullptr && value.Get<Loop>() == nullptr;
    depth_ = std::max(depth_, DepthOf(value) + 1);
    size_ += CountOf(value);
  }

  bool IsPossible() const { return is_allowed_ && depth_ <= kDeepestValue && size_ <= kMostValues; }
  int depth() const { return depth_; }
  int64_t size() const { return size_; }

 private:
  bool is_allowed_ = true;
  int depth_ = 1;
  int64_t size_ = 1;
};

std::optional<double> NumberOf(const Value& value) {
  if (const bool* const flag = value.Get<bool>()) return *flag ? 1 : 0;
  if (const int64_t* const whole = value.Get<int64_t>()) return static_cast<double>(*whole);
  if (const double* const number = value.Get<double>()) return *number;
  return std::nullopt;
}

// Python's repr() of a float: the fewest digits that read back exactly.
std::string FloatText(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[40];
  const double size = std::abs(number);
  const bool is_scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto format = is_scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, number, format).ptr);
  return is_scientific || text.find('.') != text.npos ? text : text + ".0";
}

void AppendJsonText(const MarkedText& text, MarkedText& json) {
  json.Append("\"", MarkedText::kNoMark);
  size_t plain = 0;  // From here on nothing is written yet.
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.text()[at];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
    json.Append(text.Part(plain, at));
    plain = at + 1;
    static constexpr char kEscaped[] = "\"\\\b\f\n\r\t";
    static constexpr char kNames[] = "\"\\bfnrt";
    const char* const known = c == '\0' ? nullptr : std::find(kEscaped, kEscaped + 7, c);
    const bool is_known = known != nullptr && known < kEscaped + 7;
    json.Append(is_known ? Concat("\\", std::string(1, kNames[known - kEscaped]))
                         : Format("\\u%04x", static_cast<unsigned char>(c)),
                text.MarkAt(at));
  }
  json.Append(text.Part(plain, text.size()));
  json.Append("\"", MarkedText::kNoMark);
}

bool AppendJson(const Value& value, const JsonStyle& style, int64_t level, MarkedText& json) {
  const auto plain = [&](const std::string& text) { json.Append(text, MarkedText::kNoMark); };
  const auto line = [&](int64_t depth) {
    if (style.indent.has_value()) plain(Concat("\n", std::string(static_cast<size_t>(*style.indent * depth), ' ')));
  };
  const std::string comma = style.indent.has_value() ? "," : ", ";
  if (const Text* const text = value.Get<Text>()) {
    AppendJsonText(**text, json);
    return true;
  }
  if (const List* const list = value.Get<List>()) {
    const std::vector<Value>& items = (*list)->items;
    plain("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) plain(comma);
      line(level + 1);
      if (!AppendJson(items[i], style, level + 1, json)) return false;
    }
    if (!items.empty()) line(level);
    plain("]");
    return true;
  }
  if (const Dict* const dict = value.Get<Dict>()) {
    plain("{");
    for (size_t i = 0; i < (*dict)->members.size(); ++i) {
      if (i > 0) plain(comma);
      line(level + 1);
      AppendJsonText(*(*dict)->members[i].first, json);
      plain(": ");
      if (!AppendJson((*dict)->members[i].second, style, level + 1, json)) return false;
    }
    if (!(*dict)->members.empty()) line(level);
    plain("}");
    return true;
  }
  if (value.Get<None>() != nullptr) {
    plain("null");
  } else if (const bool* const flag = value.Get<bool>()) {
    plain(*flag ? "true" : "false");
  } else if (const int64_t* const whole = value.Get<int64_t>()) {
    plain(Concat(*whole));
  } else if (const double* const number = value.Get<double>(); number != nullptr && std::isfinite(*number)) {
    plain(FloatText(*number));
  } else {
    return false;
  }
  return true;
}

}  // namespace

const Value* DictValue::Find(const std::string& key) const {
  for (const auto& [name, value] : members) {
    if (name->text() == key) return &value;
  }
  return nullptr;
}

Value TextValue(std::string text, int32_t mark) { return TextValue(MarkedText(std::move(text), mark)); }
Value TextValue(MarkedText text) { return Text(std::make_shared<const MarkedText>(std::move(text))); }

std::optional<Value> MakeList(std::vector<Value> items) {
  Holding holding;
  for (const Value& item : items) holding.Add(item);
  if (!holding.IsPossible()) return std::nullopt;
  return Value(List(std::make_shared<const ListValue>(ListValue{std::move(items), holding.depth(), holding.size()})));
}

std::optional<Value> MakeDict(std::vector<std::pair<Text, Value>> members) {
  std::map<std::string, size_t> places;
  std::vector<std::pair<Text, Value>> unique;
  Holding holding;
  for (auto& [key, value] : members) {
    holding.Add(value);
    const auto [place, is_new] = places.emplace(key->text(), unique.size());
    if (is_new) {
      unique.emplace_back(std::move(key), std::move(value));
    } else {
      unique[place->second].second = std::move(value);
    }
  }
  if (!holding.IsPossible()) return std::nullopt;
  return Value(Dict(std::make_shared<const DictValue>(DictValue{std::move(unique), holding.depth(), holding.size()})));
}

std::optional<Value> ValueOfJson(const Json& json, int32_t mark) {
  using Kind = Json::Kind;
  switch (json.kind) {
    case Kind::kNull:
      return Value(None{});
    case Kind::kBool:
      return Value(json.text == "true");
    case Kind::kNumber: {
      if (const std::optional<int64_t> whole = JsonInteger(json)) return Value(*whole);
      double number = 0;
      return ReadNumber(json.text, number) ? Value(number) : Value(None{});
    }
    case Kind::kString:
      return TextValue(json.text, mark);
    case Kind::kArray: {
      std::vector<Value> items;
      items.reserve(json.items.size());
      for (const Json& item : json.items) {
        std::optional<Value> value = ValueOfJson(item, mark);
        if (!value.has_value()) return std::nullopt;
        items.push_back(*std::move(value));
      }
      return MakeList(std::move(items));
    }
    case Kind::kObject:
      break;
  }
  std::vector<const JsonMember*> written;
  for (const JsonMember& member : json.members) written.push_back(&member);
  std::sort(written.begin(), written.end(),
            [](const auto* a, const auto* b) { return a->value.offset < b->value.offset; });
  std::vector<std::pair<Text, Value>> members;
  for (const JsonMember* const member : written) {
    std::optional<Value> value = ValueOfJson(member->value, mark);
    if (!value.has_value()) return std::nullopt;
    members.emplace_back(std::make_shared<const MarkedText>(member->name, mark), *std::move(value));
  }
  return MakeDict(std::move(members));
}

int64_t CountOf(const Value& value) {
  if (const List* const list = value.Get<List>()) return (*list)->size;
  if (const Dict* const dict = value.Get<Dict>()) return (*dict)->size;
  return 1;
}

bool IsTrue(const Value& value) {
  if (const bool* const flag = value.Get<bool>()) return *flag;
  if (const int64_t* const whole = value.Get<int64_t>()) return *whole != 0;
  if (const double* const number = value.Get<double>()) return *number != 0;
  if (const Text* const text = value.Get<Text>()) return (*text)->size() > 0;
  if (const List* const list = value.Get<List>()) return !(*list)->items.empty();
  if (const Dict* const dict = value.Get<Dict>()) return !(*dict)->members.empty();
  return !value.IsUndefined() && value.Get<None>() == nullptr;
}

bool AreEqual(const Value& a, const Value& b) {
  const std::optional<double> x = NumberOf(a), y = NumberOf(b);
  if (x.has_value() || y.has_value()) {
    const int64_t *const i = a.Get<int64_t>(), *const j = b.Get<int64_t>();
    return i != nullptr && j != nullptr ? *i == *j : x.has_value() && y.has_value() && *x == *y;
  }
  if (a.content.index() != b.content.index()) return false;
  if (const Text* const text = a.Get<Text>()) return (*text)->text() == (*b.Get<Text>())->text();
  if (const List* const list = a.Get<List>()) {
    const std::vector<Value>& others = (*b.Get<List>())->items;
    return std::equal((*list)->items.begin(), (*list)->items.end(), others.begin(), others.end(), AreEqual);
  }
  if (const Dict* const dict = a.Get<Dict>()) {
    const DictValue& other = **b.Get<Dict>();
    return (*dict)->members.size() == other.members.size() &&
           std::all_of((*dict)->members.begin(), (*dict)->members.end(), [&](const auto& member) {
             const Value* const value = other.Find(member.first->text());
             return value != nullptr && AreEqual(member.second, *value);
           });
  }
  if (const Namespace* const names = a.Get<Namespace>()) return *names == *b.Get<Namespace>();
  return a.IsUndefined() || a.Get<None>() != nullptr;
}

std::string KindOf(const Value& value) {
  static constexpr const char* kNames[] = {"nothing",     "none",   "true or false", "a whole number",
                                           "a number",    "a text", "a list",        "a dictionary",
                                           "a namespace", "`loop`", "a macro",       "a function"};
  if (const Undefined* const undefined = value.Get<Undefined>(); undefined != nullptr && !undefined->name.empty()) {
    return Concat("nothing (there is no `", undefined->name, "`)");
  }
  return kNames[value.content.index()];
}

std::optional<MarkedText> TextOf(const Value& value) {
  if (const Text* const text = value.Get<Text>()) return **text;
  if (value.IsUndefined()) return MarkedText();
  if (value.Get<None>() != nullptr) return MarkedText("None");
  if (const bool* const flag = value.Get<bool>()) return MarkedText(*flag ? "True" : "False");
  if (const int64_t* const whole = value.Get<int64_t>()) return MarkedText(Concat(*whole));
  if (const double* const number = value.Get<double>()) return MarkedText(FloatText(*number));
  return std::nullopt;
}

std::optional<MarkedText> JsonOf(const Value& value, const JsonStyle& style) {
  MarkedText json;
  if (!AppendJson(value, style, 0, json)) return std::nullopt;
  return json;
}

}  // namespace cleave::runtime
