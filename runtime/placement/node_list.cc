#include "runtime/placement/node_list.h"

#include "runtime/placement/number.h"

namespace cleave::runtime {
namespace {

// The first number of "01-03,7", as it is written; nullopt where the text is not such a list.
std::optional<std::string> FirstNumber(const std::string& ranges) {
  size_t begin = 0;
  while (true) {
    const size_t comma = ranges.find(',', begin);
    const std::string range = ranges.substr(begin, comma - begin);
    const size_t dash = range.find('-');
    const std::optional<int> low = WholeNumber(range.substr(0, dash));
    const std::optional<int> high = dash == std::string::npos ? low : WholeNumber(range.substr(dash + 1));
    if (!low.has_value() || !high.has_value() || *high < *low) return std::nullopt;
    if (comma == std::string::npos) return ranges.substr(0, ranges.find_first_of(",-"));
    begin = comma + 1;
  }
}

}  // namespace

std::optional<std::string> FirstNode(const std::string& text) {
  std::optional<std::string> first;
  std::string name;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || text[at] == ',') {
      if (name.empty()) return std::nullopt;
      if (!first.has_value()) first = name;
      name.clear();
    } else if (text[at] == '[') {
      const size_t close = text.find(']', at);
      if (close == std::string::npos) return std::nullopt;
      const std::optional<std::string> number = FirstNumber(text.substr(at + 1, close - at - 1));
      if (!number.has_value()) return std::nullopt;
      name += *number;
      at = close;
    } else if (text[at] == ']') {
      return std::nullopt;
    } else {
      name += text[at];
    }
  }
  return first;
}

}  // namespace cleave::runtime
