// Prints what changed from one plan.json to another: see tools/plan_diff/command.h.

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/standard_output.h"
#include "tools/plan_diff/command.h"
#include "tools/user_folder/user_folder.h"

int main(int argc, char** argv) {
  if (!cleave::tools::EnterUserFolder()) return static_cast<int>(cleave::tools::ExitCode::kEnvironment);
  const cleave::tools::DiffAnswer answer = cleave::tools::RunDiff(
      "diff", "Says what changed from one plan.json to another.", std::vector<std::string>(argv + 1, argv + argc));
  std::cout << answer.output;
  std::cerr << answer.error;
  return static_cast<int>(cleave::tools::EndOutput(answer.exit_code));
}
