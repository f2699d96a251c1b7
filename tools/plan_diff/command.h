// The command that compares two plans.
#ifndef CLEAVE_TOOLS_PLAN_DIFF_COMMAND_H_
#define CLEAVE_TOOLS_PLAN_DIFF_COMMAND_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

struct DiffAnswer {
  ExitCode exit_code = ExitCode::kDone;  // kDiffers; kModelWrong for a file that cannot be read or is no plan; kUsage;
                                         // kEnvironment for a page that cannot be written.
  std::string output = "";               // For standard output.
  std::string error = "";                // For standard error.
};

// Adds the options and arguments, to be shown.
void DescribeDiff(CLI::App& app);

// `words`: two paths, and options anywhere. `name` and `summary` are shown in the help.
DiffAnswer RunDiff(const std::string& name, const std::string& summary, const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PLAN_DIFF_COMMAND_H_
