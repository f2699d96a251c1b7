#include "tools/weights/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace cleave::tools {

std::string TextTable::Text() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    absl::StripTrailingAsciiWhitespace(&line);
    text += line + "\n";
  }
  return text;
}

}  // namespace cleave::tools
