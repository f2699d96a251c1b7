// The end of a tool: whether its results were written.
#ifndef CLEAVE_TOOLS_COMMAND_LINE_STANDARD_OUTPUT_H_
#define CLEAVE_TOOLS_COMMAND_LINE_STANDARD_OUTPUT_H_

#include "tools/command_line/exit_code.h"
#include "tools/command_line/usage.h"

namespace cleave::tools {

// `code`, with which a tool wants to end, or kEnvironment where standard output (after E0602) or standard error did not
// take all that was written to it, as on a full disk. To be called last.
ExitCode EndOutput(ExitCode code, ErrorFormat format = ErrorFormat::kText);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_COMMAND_LINE_STANDARD_OUTPUT_H_
