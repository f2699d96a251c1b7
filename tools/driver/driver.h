// The compiler as a function: what the commands do that compile a model.
#ifndef CLEAVE_TOOLS_DRIVER_DRIVER_H_
#define CLEAVE_TOOLS_DRIVER_DRIVER_H_

#include <string>
#include <vector>

#include "tools/command_line/exit_code.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// Compiles, and builds and starts the program where the options ask for it. Diagnostics go to standard error; with
// `quiet` nothing else is printed, otherwise a summary goes to standard output. Paths are relative to the current
// folder.
ExitCode RunCompiler(const CompileOptions& options);

// The same from the words of a command line. `name` and `summary` are shown in the help.
ExitCode RunCommandLine(Command command, const std::string& name, const std::string& summary,
                        const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_DRIVER_H_
