// Private to runtime/chat_template: the arguments of a call, and tables of functions by their names.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_GIVEN_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_GIVEN_H_

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/chat_template/ascii.h"
#include "runtime/chat_template/functions.h"

namespace cleave::runtime {

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
    if (!is_right) progression.Fail(Concat("`", name_, "` with these arguments is not supported"));
    return is_right;
  }

  // A text that must be there.
  const MarkedText* TextAt(size_t place, const std::string& name) const {
    const Value* const value = Find(place, name);
    const Text* const text = value == nullptr ? nullptr : value->Get<Text>();
    if (text != nullptr) return text->get();
    progression.Fail(Concat("`", name_, "` needs a text"));
    return nullptr;
  }

  // A whole number; `otherwise` where it is not given or none.
  int64_t WholeAt(size_t place, const std::string& name, int64_t otherwise) const {
    const Value* const value = Find(place, name);
    if (value == nullptr || value->Get<None>() != nullptr) return otherwise;
    if (const int64_t* const whole = value->Get<int64_t>()) return *whole;
    progression.Fail(Concat("`", name_, "` needs a whole number"));
    return otherwise;
  }

 private:
  std::string name_;
  const CallArguments& arguments_;
};

template <typename Table>
auto FindNamed(const Table& table, const std::string& name) -> decltype(table[0].second) {
  for (const auto& [known, function] : table) {
    if (name == known) return function;
  }
  return nullptr;
}

// "the filter `sort` is not supported"
inline void FailUnknown(const char* what, const std::string& name, Progression& progression) {
  progression.Fail(Concat("the ", what, " `", name, "` is not supported"));
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_GIVEN_H_
