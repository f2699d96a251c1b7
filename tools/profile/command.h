// The command that lays a run beside its plan.
#ifndef CLEAVE_TOOLS_PROFILE_COMMAND_H_
#define CLEAVE_TOOLS_PROFILE_COMMAND_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeProfile(CLI::App& app);

// `words`: a folder with a run.json or that file, then perhaps the same of a plan. `name` and `summary` are shown in
// the help. kModelWrong where a file cannot be read, is none of its kind, or both do not belong together.
ExitCode RunProfile(const std::string& name, const std::string& summary, const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PROFILE_COMMAND_H_
