// The command line of //tools:diff.
#ifndef CLEAVE_TOOLS_PLAN_DIFF_COMMAND_H_
#define CLEAVE_TOOLS_PLAN_DIFF_COMMAND_H_

#include <string>
#include <vector>

namespace cleave::tools {

// Exit codes: 0 the plans are equal, 1 they differ, 2 usage, 3 a file that cannot be read or is no plan.
struct DiffAnswer {
  int exit_code = 0;
  std::string output = "";  // For standard output.
  std::string error = "";   // For standard error.
};

// `words`: two paths, and `--json` anywhere.
DiffAnswer RunDiff(const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PLAN_DIFF_COMMAND_H_
