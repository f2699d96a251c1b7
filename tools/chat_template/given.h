// Private to tools/chat_template: the arguments of a call, and tables of functions by their names.
#ifndef CLEAVE_TOOLS_CHAT_TEMPLATE_GIVEN_H_
#define CLEAVE_TOOLS_CHAT_TEMPLATE_GIVEN_H_

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "tools/chat_template/functions.h"

namespace cleave::tools {

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

template <typename Table>
auto FindNamed(const Table& table, const std::string& name) -> decltype(table[0].second) {
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

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CHAT_TEMPLATE_GIVEN_H_
