// What the variables of a chat template hold: the values of Python that its language knows, of which none changes but
// a namespace.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_VALUE_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_VALUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/chat_template/marked_text.h"
#include "runtime/json/json.h"

namespace cleave::runtime {

struct TemplateNode;
struct TemplateScope;
struct Value;

// Nothing: a name or member that is not there.
struct Undefined {
  std::string name;
};

struct None {};

using Text = std::shared_ptr<const MarkedText>;

struct ListValue {
  std::vector<Value> items;
  int depth = 1;     // Lists and dictionaries in one another.
  int64_t size = 1;  // Values in it, itself and those within others among them.
};
using List = std::shared_ptr<const ListValue>;

// In the order of insertion; keys differ.
struct DictValue {
  std::vector<std::pair<Text, Value>> members;
  int depth = 1;
  int64_t size = 1;

  const Value* Find(const std::string& key) const;  // Null for none.
};
using Dict = std::shared_ptr<const DictValue>;

struct NamespaceValue {
  std::map<std::string, Value> members;
};
using Namespace = std::shared_ptr<NamespaceValue>;

// `loop` within a loop.
struct LoopValue {
  int64_t index0 = 0;
  int64_t length = 0;
  int depth = 1;
  const std::vector<Value>* items = nullptr;
};
using Loop = std::shared_ptr<const LoopValue>;

// A macro of the template; it sees the variables of where it stands.
struct Macro {
  const TemplateNode* node;
  TemplateScope* scope;
};

// A function that every template has.
enum class Function { kRange, kNamespace, kDict, kRaiseException, kStrftimeNow };

struct Value {
  std::variant<Undefined, None, bool, int64_t, double, Text, List, Dict, Namespace, Loop, Macro, Function> content;

  Value() = default;
  template <typename T>
  Value(T value) : content(std::move(value)) {}  // NOLINT: implicit on purpose, as in `return true;`

  template <typename T>
  const T* Get() const {
    return std::get_if<T>(&content);
  }
  bool IsUndefined() const { return Get<Undefined>() != nullptr; }
};

// Lists and dictionaries nest at most so deep, and hold at most so many values: one list may be many times in another.
constexpr int kDeepestValue = 100;
constexpr int64_t kMostValues = int64_t{1} << 24;

Value TextValue(std::string text, int32_t mark = MarkedText::kNoMark);
Value TextValue(MarkedText text);

// Nullopt where these limits are passed, or for values that no list holds: namespaces and macros, which could hold
// themselves.
std::optional<Value> MakeList(std::vector<Value> items);
std::optional<Value> MakeDict(std::vector<std::pair<Text, Value>> members);  // Of the same keys the last counts.

// A JSON value, all of whose texts have this mark. Members keep the order in which they are written. Nullopt where it
// has too many values.
std::optional<Value> ValueOfJson(const Json& json, int32_t mark);

// How many values there are in this one, at least 1.
int64_t CountOf(const Value& value);

// Python's bool().
bool IsTrue(const Value& value);

// Python's ==.
bool AreEqual(const Value& a, const Value& b);

// "a list", as messages say it.
std::string KindOf(const Value& value);

// Python's str(); nullopt for lists, dictionaries and whatever else has a form that only Python knows.
std::optional<MarkedText> TextOf(const Value& value);

struct JsonStyle {
  std::optional<int64_t> indent;
};

// Python's json.dumps(…, ensure_ascii = False); nullopt for values that are no JSON.
std::optional<MarkedText> JsonOf(const Value& value, const JsonStyle& style);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_VALUE_H_
