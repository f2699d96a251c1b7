// The compiler as a function: what //tools:compile does with a command line.
#ifndef CLEAVE_TOOLS_DRIVER_DRIVER_H_
#define CLEAVE_TOOLS_DRIVER_DRIVER_H_

#include "tools/driver/exit_code.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// Compiles, and builds and starts the program where the options ask for it. Diagnostics go to standard error; with
// `quiet` nothing else is printed, otherwise a summary goes to standard output. Paths are relative to the current
// folder.
ExitCode RunCompiler(const CompileOptions& options);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_DRIVER_H_
