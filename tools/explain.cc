// Prints the page of a diagnostic code: see tools/error_pages/error_pages.h.

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/standard_output.h"
#include "tools/error_pages/error_pages.h"

int main(int argc, char** argv) {
  const cleave::tools::CodeAnswer answer = cleave::tools::ExplainCode(std::vector<std::string>(argv + 1, argv + argc));
  (answer.is_answered ? std::cout : std::cerr) << answer.text;
  const auto code = answer.is_answered ? cleave::tools::ExitCode::kDone : cleave::tools::ExitCode::kUsage;
  return static_cast<int>(cleave::tools::EndOutput(code));
}
