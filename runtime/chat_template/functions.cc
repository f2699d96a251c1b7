// Reading guide: two tables, kFilters and kTests, and the functions that they name; methods.cc has those of texts. A
// function gets the value before the `|`, and its arguments as `Given`, which finds them by place or by name.
#include "runtime/chat_template/functions.h"

#include <algorithm>
#include <cmath>

#include "runtime/chat_template/ascii.h"
#include "runtime/chat_template/given.h"
#include "runtime/chat_template/methods.h"

namespace cleave::runtime {
namespace {

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
  return given.progression.Fail(Concat("the length of ", KindOf(input)));
}

Value ToJson(const Value& input, const Given& given) {
  if (!given.AreAtMost(0, {"indent", "ensure_ascii"})) return Value();
  const Value* const ascii = given.Find(1, "ensure_ascii");
  if (ascii != nullptr && IsTrue(*ascii)) return given.progression.Fail("`ensure_ascii` is not supported");
  JsonStyle style;
  const int64_t indent = given.WholeAt(0, "indent", -1);
  if (indent > 100) return given.progression.Fail("`indent` is too large");
  if (indent >= 0) style.indent = indent;
  given.progression.Step(CountOf(input) * (1 + std::max<int64_t>(indent, 0)));
  if (given.progression.has_failed()) return Value();
  std::optional<MarkedText> json = JsonOf(input, style);
  if (!json.has_value()) return given.progression.Fail(Concat("`tojson` of ", KindOf(input)));
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
  if (const Text* const text = input.Get<Text>(); text != nullptr && ReadNumber((*text)->text(), whole)) return whole;
  return given.progression.Fail(Concat("`int` of ", KindOf(input), " is not supported"));
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
  if (input.Get<Text>() != nullptr) return Sliced(input, Value(), Value(), int64_t{-1}, given.progression);
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
  if (given.count() < first) return given.progression.Fail(Concat("`", given.name(), "` needs an attribute"));
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
  if (dict == nullptr) return given.progression.Fail(Concat("`dictsort` of ", KindOf(input)));
  DictValue sorted = **dict;
  given.progression.Step(CountOf(input));
  const auto is_before = [](const auto& a, const auto& b) {
    return InLowerCase(a.first->text()) < InLowerCase(b.first->text());
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
                              : given.progression.Fail(Concat("`items` of ", KindOf(input)));
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
  given.progression.Fail(Concat("`", given.name(), "` needs one argument"));
  return false;
}

bool IsRest(const Value& input, const Given& given, int64_t divisor, int64_t rest) {
  const int64_t* const whole = input.Get<int64_t>();
  if (whole != nullptr && divisor != 0) return *whole % divisor == rest || *whole % divisor == -rest;
  given.progression.Fail(Concat("`", given.name(), "` of ", KindOf(input)));
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

Value ApplyFilter(const std::string& name, const Value& input, const CallArguments& arguments,
                  Progression& progression) {
  progression.Step();
  if (progression.has_failed()) return Value();
  if (const Filter filter = FindNamed(kFilters, name)) return filter(input, Given(name, arguments, progression));
  FailUnknown("filter", name, progression);
  return Value();
}

bool ApplyTest(const std::string& name, const Value& input, const CallArguments& arguments, Progression& progression) {
  progression.Step();
  if (progression.has_failed()) return false;
  if (const Test test = FindNamed(kTests, name)) return test(input, Given(name, arguments, progression));
  FailUnknown("test", name, progression);
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
      return progression.Fail(Concat("the template refuses this: ", message->text().substr(0, 500)));
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

}  // namespace cleave::runtime
