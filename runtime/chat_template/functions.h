// Private to runtime/chat_template: filters, tests, and methods of texts and dictionaries.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_FUNCTIONS_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_FUNCTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/chat_template/chat_template.h"
#include "runtime/chat_template/value.h"

namespace cleave::runtime {

// What a rendering has used up, and its first problem. After a problem all goes on with nothing, to its end.
class Progression {
 public:
  explicit Progression(int64_t most_steps) : most_steps_(most_steps) {}

  int64_t steps() const { return steps_; }
  bool has_failed() const { return problem_.has_value(); }
  const std::optional<TemplateProblem>& problem() const { return problem_; }

  // Problems from now on are about this place.
  void GoTo(size_t offset) { offset_ = offset; }
  size_t offset() const { return offset_; }
  Value Fail(const std::string& message);

  // `count` values are looked at, or so many bytes written.
  void Step(int64_t count = 1);
  void Write(size_t bytes) { Step(static_cast<int64_t>(bytes) / 256 + 1); }

  // A text that was made; nothing where it is too long.
  Value Made(MarkedText text);
  Value MadeList(std::vector<Value> items);

 private:
  const int64_t most_steps_;
  int64_t steps_ = 0;
  size_t offset_ = 0;
  std::optional<TemplateProblem> problem_;
};

struct CallArguments {
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> named;
};

// `input | name(arguments)`.
Value ApplyFilter(const std::string& name, const Value& input, const CallArguments& arguments,
                  Progression& progression);

// `input is name(arguments)`.
bool ApplyTest(const std::string& name, const Value& input, const CallArguments& arguments, Progression& progression);

// `object.name(arguments)` for a text or dictionary; nullopt for any other object.
std::optional<Value> CallMethod(const Value& object, const std::string& name, const CallArguments& arguments,
                                Progression& progression);

// Whether a dictionary has a method of this name, which comes before its members.
bool IsMethodOfDict(const std::string& name);

Value CallFunction(Function function, const CallArguments& arguments, const RenderOptions& options,
                   Progression& progression);

// What a loop over the value goes through: items, keys, characters; none for nothing.
std::vector<Value> ItemsOf(const Value& value, Progression& progression);

// The text of a value, of lists and such with a problem.
MarkedText ShownText(const Value& value, Progression& progression);

// `object.name` and `object[key]`, but for methods.
Value MemberOf(const Value& object, const std::string& name, Progression& progression);
Value ItemOf(const Value& object, const Value& key, Progression& progression);

// `object[begin:end:step]`, each nothing where it was left out.
Value Sliced(const Value& object, const Value& begin, const Value& end, const Value& step, Progression& progression);

// `item in collection`.
bool IsIn(const Value& item, const Value& collection, Progression& progression);

// `left sign right` for signs of arithmetic.
Value Calculate(const std::string& sign, const Value& left, const Value& right, Progression& progression);

// `left sign right` for == != < > <= >=.
bool Compare(const std::string& sign, const Value& left, const Value& right, Progression& progression);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_FUNCTIONS_H_
