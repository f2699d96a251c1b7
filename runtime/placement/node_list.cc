#include "runtime/placement/node_list.h"

#include "runtime/placement/number.h"

namespace cleave::runtime {
namespace {

constexpr size_t kMostNames = size_t{1} << 20;

// Splits at the commas outside of brackets; nullopt where brackets do not match.
std::optional<std::vector<std::string>> SplitOutsideBrackets(const std::string& text) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '[' || c == ']') {
      if (inside == (c == '[')) return std::nullopt;
      inside = !inside;
    }
    if (c == ',' && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (inside) return std::nullopt;
  return parts;
}

// "01-03" -> 01 02 03, as wide as the first; "7" -> 7.
bool ExpandRange(const std::string& range, std::vector<std::string>& numbers) {
  const size_t dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const std::optional<int> low = WholeNumber(first);
  const std::optional<int> high = dash == std::string::npos ? low : WholeNumber(range.substr(dash + 1));
  if (!low.has_value() || !high.has_value() || *high < *low) return false;
  if (static_cast<size_t>(*high - *low) + numbers.size() >= kMostNames) return false;
  for (int number = *low; number <= *high; ++number) {
    const std::string text = std::to_string(number);
    numbers.push_back(std::string(text.size() < first.size() ? first.size() - text.size() : 0, '0') + text);
  }
  return true;
}

// Expands the text between brackets.
bool ExpandRanges(const std::string& text, std::vector<std::string>& numbers) {
  size_t begin = 0;
  while (true) {
    const size_t comma = text.find(',', begin);
    if (!ExpandRange(text.substr(begin, comma - begin), numbers)) return false;
    if (comma == std::string::npos) return true;
    begin = comma + 1;
  }
}

// All names of one pattern, each behind `prefix`.
bool ExpandPattern(const std::string& prefix, const std::string& pattern, std::vector<std::string>& names) {
  const size_t open = pattern.find('[');
  if (open == std::string::npos) {
    names.push_back(prefix + pattern);
    return !names.back().empty() && names.size() <= kMostNames;
  }
  const size_t close = pattern.find(']', open);
  std::vector<std::string> numbers;
  if (!ExpandRanges(pattern.substr(open + 1, close - open - 1), numbers)) return false;
  for (const std::string& number : numbers) {
    if (!ExpandPattern(prefix + pattern.substr(0, open) + number, pattern.substr(close + 1), names)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> ExpandNodeList(const std::string& text) {
  const std::optional<std::vector<std::string>> patterns = SplitOutsideBrackets(text);
  if (!patterns.has_value()) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& pattern : *patterns) {
    if (!ExpandPattern("", pattern, names)) return std::nullopt;
  }
  return names;
}

}  // namespace cleave::runtime
