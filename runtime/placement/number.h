// Whole numbers of environment variables, tables and messages.
#ifndef CLEAVE_RUNTIME_PLACEMENT_NUMBER_H_
#define CLEAVE_RUNTIME_PLACEMENT_NUMBER_H_

#include <optional>
#include <string>

namespace cleave::runtime {

// Digits only, at most nine of them: no sign, no spaces.
inline std::optional<int> WholeNumber(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoi(text);
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_PLACEMENT_NUMBER_H_
