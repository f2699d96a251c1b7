// Texts in columns.
#ifndef CLEAVE_TOOLS_WEIGHTS_TABLE_H_
#define CLEAVE_TOOLS_WEIGHTS_TABLE_H_

#include <string>
#include <utility>
#include <vector>

namespace cleave::tools {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}

  // REQUIRES: as many texts as the head has.
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  // The head and the rows, in columns that are as wide as their longest text.
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WEIGHTS_TABLE_H_
