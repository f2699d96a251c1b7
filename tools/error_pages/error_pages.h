// The pages of docs/errors.
//
//   CodeAnswer answer = ExplainCode({"e0304"});
//   std::cout << answer.text;
#ifndef CLEAVE_TOOLS_ERROR_PAGES_ERROR_PAGES_H_
#define CLEAVE_TOOLS_ERROR_PAGES_ERROR_PAGES_H_

#include <string>
#include <vector>

namespace cleave::tools {

struct CodeAnswer {
  bool is_answered = true;  // If not, `text` says what was wrong with the question.
  std::string text;         // Ends with a newline.
};

// For one word: the page of that code, in upper or lower case. For none: all codes with their titles, one a line.
CodeAnswer ExplainCode(const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_ERROR_PAGES_ERROR_PAGES_H_
