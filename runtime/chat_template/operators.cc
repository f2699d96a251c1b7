// Reading guide: what Python's operators do with values. Where Python raises an error, so does `Progression::Fail`.
#include <algorithm>
#include <cmath>

#include "runtime/chat_template/ascii.h"
#include "runtime/chat_template/functions.h"  // IWYU pragma: associated
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

constexpr size_t kLongestText = size_t{1} << 28;

std::optional<int64_t> WholeOf(const Value& value) {
  if (const bool* const flag = value.Get<bool>()) return *flag ? 1 : 0;
  if (const int64_t* const whole = value.Get<int64_t>()) return *whole;
  return std::nullopt;
}

std::optional<double> AnyNumberOf(const Value& value) {
  if (const std::optional<int64_t> whole = WholeOf(value)) return static_cast<double>(*whole);
  if (const double* const number = value.Get<double>()) return *number;
  return std::nullopt;
}

// Where the characters of a text begin, and its end.
std::vector<size_t> CharactersOf(const std::string& text, Progression& progression) {
  progression.Write(text.size());
  std::vector<size_t> places;
  for (size_t at = 0; at < text.size(); ReadUtf8(text, at)) places.push_back(at);
  places.push_back(text.size());
  return places;
}

Value CalculateWhole(const std::string& sign, int64_t a, int64_t b, Progression& progression) {
  int64_t result = 0;
  bool is_too_large = false;
  if (sign == "+") {
    is_too_large = __builtin_add_overflow(a, b, &result);
  } else if (sign == "-") {
    is_too_large = __builtin_sub_overflow(a, b, &result);
  } else if (sign == "*") {
    is_too_large = __builtin_mul_overflow(a, b, &result);
  } else if (sign == "//" || sign == "%" || sign == "/") {
    if (b == 0) return progression.Fail("a division by zero");
    if (sign == "/") return static_cast<double>(a) / static_cast<double>(b);
    is_too_large = a == INT64_MIN && b == -1;
    if (!is_too_large) {
      const bool rounds_down = a % b != 0 && (a < 0) != (b < 0);
      result = sign == "%" ? a % b + (rounds_down ? b : 0) : a / b - (rounds_down ? 1 : 0);
    }
  } else {
    return progression.Fail(Concat("`", sign, "` is not supported"));
  }
  return is_too_large ? progression.Fail("a number is too large") : Value(result);
}

Value CalculateFloat(const std::string& sign, double a, double b, Progression& progression) {
  if (sign == "+") return a + b;
  if (sign == "-") return a - b;
  if (sign == "*") return a * b;
  if (sign == "/") return b == 0 ? progression.Fail("a division by zero") : Value(a / b);
  return progression.Fail(Concat("`", sign, "` of numbers with a point is not supported"));
}

Value Repeated(const MarkedText& text, int64_t count, Progression& progression) {
  MarkedText repeated;
  if (count > 0 && text.size() > kLongestText / static_cast<size_t>(count))
    return progression.Fail("a text is too long");
  for (int64_t i = 0; i < count && !progression.has_failed(); ++i) {
    progression.Write(text.size());
    repeated.Append(text);
  }
  return progression.Made(std::move(repeated));
}

}  // namespace

Value Progression::Fail(const std::string& message) {
  if (!problem_.has_value()) problem_ = TemplateProblem{offset_, message};
  return Value();
}

void Progression::Step(int64_t count) {
  steps_ += std::min(count, kMostTemplateSteps);
  if (steps_ > most_steps_) Fail("the template runs too long: it takes more steps than are allowed");
}

Value Progression::Made(MarkedText text) {
  Write(text.size());
  if (text.size() > kLongestText) return Fail("a text is too long");
  return TextValue(std::move(text));
}

Value Progression::MadeList(std::vector<Value> items) {
  Step(static_cast<int64_t>(items.size()));
  std::optional<Value> list = MakeList(std::move(items));
  return list.has_value() ? *std::move(list)
                          : Fail("a list that is nested too deep, too large, or has a namespace or macro in it");
}

MarkedText ShownText(const Value& value, Progression& progression) {
  std::optional<MarkedText> text = TextOf(value);
  if (text.has_value()) {
    progression.Write(text->size());
    return *std::move(text);
  }
  progression.Fail(Concat(KindOf(value), " as a text is not supported (`tojson` writes it)"));
  return MarkedText();
}

std::vector<Value> ItemsOf(const Value& value, Progression& progression) {
  std::vector<Value> items;
  if (const List* const list = value.Get<List>()) {
    items = (*list)->items;
  } else if (const Dict* const dict = value.Get<Dict>()) {
    for (const auto& [key, member] : (*dict)->members) items.emplace_back(key);
  } else if (const Text* const text = value.Get<Text>()) {
    const std::vector<size_t> places = CharactersOf((*text)->text(), progression);
    progression.Step(static_cast<int64_t>(places.size()));
    for (size_t i = 0; i + 1 < places.size() && !progression.has_failed(); ++i) {
      items.push_back(TextValue((*text)->Part(places[i], places[i + 1])));
    }
  } else if (!value.IsUndefined()) {
    progression.Fail(Concat(KindOf(value), " has no items"));
  }
  progression.Step(static_cast<int64_t>(items.size()));
  return items;
}

Value MemberOf(const Value& object, const std::string& name, Progression& progression) {
  progression.Step();
  if (object.IsUndefined()) {
    return progression.Fail(Concat("`.", name, "` of ", KindOf(object)));
  }
  const Value* found = nullptr;
  if (const Dict* const dict = object.Get<Dict>()) {
    progression.Step(static_cast<int64_t>((*dict)->members.size()) / 8);
    if (IsMethodOfDict(name)) return progression.Fail(Concat("`.", name, "` that is not called is not supported"));
    found = (*dict)->Find(name);
  } else if (const Namespace* const names = object.Get<Namespace>()) {
    const auto member = (*names)->members.find(name);
    if (member != (*names)->members.end()) found = &member->second;
  } else if (const Loop* const loop = object.Get<Loop>()) {
    const LoopValue& at = **loop;
    if (name == "index") return at.index0 + 1;
    if (name == "index0") return at.index0;
    if (name == "first") return at.index0 == 0;
    if (name == "last") return at.index0 + 1 == at.length;
    if (name == "length") return at.length;
    if (name == "revindex") return at.length - at.index0;
    if (name == "revindex0") return at.length - at.index0 - 1;
    if (name == "depth") return int64_t{at.depth};
    if (name == "depth0") return int64_t{at.depth - 1};
    const auto place = static_cast<size_t>(at.index0);
    if (name == "previtem") return at.index0 > 0 ? (*at.items)[place - 1] : Value(Undefined{"loop.previtem"});
    if (name == "nextitem") {
      return at.index0 + 1 < at.length ? (*at.items)[place + 1] : Value(Undefined{"loop.nextitem"});
    }
    return progression.Fail(Concat("`loop.", name, "` is not supported"));
  }
  return found != nullptr ? *found : Value(Undefined{name});
}

Value ItemOf(const Value& object, const Value& key, Progression& progression) {
  if (const Text* const name = key.Get<Text>()) {
    if (object.Get<List>() != nullptr || object.Get<Text>() != nullptr) return Undefined{(*name)->text()};
    if (const Dict* const dict = object.Get<Dict>()) {
      progression.Step(static_cast<int64_t>((*dict)->members.size()) / 8);
      const Value* const found = (*dict)->Find((*name)->text());
      return found != nullptr ? *found : Value(Undefined{(*name)->text()});
    }
    return MemberOf(object, (*name)->text(), progression);
  }
  if (object.IsUndefined()) return progression.Fail(Concat("an item of ", KindOf(object)));
  const std::optional<int64_t> place = WholeOf(key);
  if (!place.has_value() || (object.Get<List>() == nullptr && object.Get<Text>() == nullptr)) return Undefined{"item"};
  if (const List* const list = object.Get<List>()) {
    const auto count = static_cast<int64_t>((*list)->items.size());
    const int64_t at = *place < 0 ? *place + count : *place;
    return at >= 0 && at < count ? (*list)->items[static_cast<size_t>(at)] : Value(Undefined{"item"});
  }
  const MarkedText& text = **object.Get<Text>();
  const std::vector<size_t> places = CharactersOf(text.text(), progression);
  const auto count = static_cast<int64_t>(places.size()) - 1;
  const int64_t at = *place < 0 ? *place + count : *place;
  if (at < 0 || at >= count) return Undefined{"item"};
  return TextValue(text.Part(places[static_cast<size_t>(at)], places[static_cast<size_t>(at) + 1]));
}

Value Sliced(const Value& object, const Value& begin, const Value& end, const Value& step, Progression& progression) {
  const List* const list = object.Get<List>();
  const Text* const text = object.Get<Text>();
  if (list == nullptr && text == nullptr) return progression.Fail(Concat("a part of ", KindOf(object)));
  const std::vector<size_t> places =
      text == nullptr ? std::vector<size_t>() : CharactersOf((*text)->text(), progression);
  const auto count = static_cast<int64_t>(text == nullptr ? (*list)->items.size() : places.size() - 1);
  const auto is_out = [](const Value& bound) { return bound.IsUndefined() || bound.Get<None>() != nullptr; };
  for (const Value* bound : {&begin, &end, &step}) {
    if (!is_out(*bound) && !WholeOf(*bound).has_value()) return progression.Fail(Concat(KindOf(*bound), " as a place"));
  }
  const int64_t stride = is_out(step) ? 1 : *WholeOf(step);
  if (stride == 0) return progression.Fail("a slice with step 0");
  const auto place = [&](const Value& bound, int64_t otherwise) {
    if (is_out(bound)) return otherwise;
    const int64_t at = *WholeOf(bound) < 0 ? std::max(*WholeOf(bound), -count - 1) + count : *WholeOf(bound);
    return stride > 0 ? std::clamp<int64_t>(at, 0, count) : std::clamp<int64_t>(at, -1, count - 1);
  };
  const int64_t first = place(begin, stride > 0 ? 0 : count - 1), last = place(end, stride > 0 ? count : -1);
  if (text != nullptr && stride == 1) {
    return progression.Made(first < last
                                ? (*text)->Part(places[static_cast<size_t>(first)], places[static_cast<size_t>(last)])
                                : MarkedText());
  }
  std::vector<Value> items;
  MarkedText characters;
  for (int64_t at = first; stride > 0 ? at < last : at > last; at += stride) {
    progression.Step();
    if (progression.has_failed()) break;
    if (list != nullptr) {
      items.push_back((*list)->items[static_cast<size_t>(at)]);
    } else {
      characters.Append((*text)->Part(places[static_cast<size_t>(at)], places[static_cast<size_t>(at) + 1]));
    }
    if (stride > count || stride < -count) break;
  }
  return list != nullptr ? progression.MadeList(std::move(items)) : progression.Made(std::move(characters));
}

bool IsIn(const Value& item, const Value& collection, Progression& progression) {
  if (const Text* const text = collection.Get<Text>()) {
    const Text* const part = item.Get<Text>();
    if (part == nullptr) {
      progression.Fail(Concat(KindOf(item), " in a text"));
      return false;
    }
    progression.Write((*text)->size());
    return (*text)->text().find((*part)->text()) != std::string::npos;
  }
  if (const Dict* const dict = collection.Get<Dict>()) {
    const Text* const key = item.Get<Text>();
    progression.Step(static_cast<int64_t>((*dict)->members.size()) / 8);
    return key != nullptr && (*dict)->Find((*key)->text()) != nullptr;
  }
  if (const List* const list = collection.Get<List>()) {
    progression.Step((*list)->size);
    const std::vector<Value>& items = (*list)->items;
    return std::any_of(items.begin(), items.end(), [&](const Value& other) { return AreEqual(item, other); });
  }
  if (!collection.IsUndefined()) progression.Fail(Concat("`in` of ", KindOf(collection)));
  return false;
}

Value Calculate(const std::string& sign, const Value& left, const Value& right, Progression& progression) {
  progression.Step();
  if (sign == "~") {
    MarkedText text = ShownText(left, progression);
    text.Append(ShownText(right, progression));
    return progression.Made(std::move(text));
  }
  const std::optional<int64_t> a = WholeOf(left), b = WholeOf(right);
  if (a.has_value() && b.has_value()) return CalculateWhole(sign, *a, *b, progression);
  const std::optional<double> x = AnyNumberOf(left), y = AnyNumberOf(right);
  if (x.has_value() && y.has_value()) return CalculateFloat(sign, *x, *y, progression);
  const Text *const text = left.Get<Text>(), *const other = right.Get<Text>();
  if (sign == "+" && text != nullptr && other != nullptr) {
    progression.Write((*text)->size() + (*other)->size());
    MarkedText joined = **text;
    joined.Append(**other);
    return progression.Made(std::move(joined));
  }
  if (sign == "*" && text != nullptr && b.has_value()) return Repeated(**text, *b, progression);
  const List *const list = left.Get<List>(), *const more = right.Get<List>();
  if (sign == "+" && list != nullptr && more != nullptr) {
    progression.Step(static_cast<int64_t>((*list)->items.size() + (*more)->items.size()));
    std::vector<Value> items = (*list)->items;
    items.insert(items.end(), (*more)->items.begin(), (*more)->items.end());
    return progression.MadeList(std::move(items));
  }
  return progression.Fail(Concat("`", sign, "` of ", KindOf(left), " and ", KindOf(right)));
}

bool Compare(const std::string& sign, const Value& left, const Value& right, Progression& progression) {
  progression.Step(std::min(CountOf(left), CountOf(right)));
  if (sign == "==") return AreEqual(left, right);
  if (sign == "!=") return !AreEqual(left, right);
  int order = 0;
  const Text *const text = left.Get<Text>(), *const other = right.Get<Text>();
  const std::optional<double> x = AnyNumberOf(left), y = AnyNumberOf(right);
  const std::optional<int64_t> a = WholeOf(left), b = WholeOf(right);
  if (text != nullptr && other != nullptr) {
    order = (*text)->text().compare((*other)->text());
  } else if (a.has_value() && b.has_value()) {
    order = *a < *b ? -1 : *a > *b ? 1 : 0;
  } else if (x.has_value() && y.has_value()) {
    order = *x < *y ? -1 : *x > *y ? 1 : 0;
  } else {
    progression.Fail(Concat("`", sign, "` of ", KindOf(left), " and ", KindOf(right)));
    return false;
  }
  return sign == "<" ? order < 0 : sign == ">" ? order > 0 : sign == "<=" ? order <= 0 : order >= 0;
}

}  // namespace cleave::runtime
