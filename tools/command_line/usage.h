// Errors in the format in which the user wants them: mistakes on the command line, and diagnostics.
#ifndef CLEAVE_TOOLS_COMMAND_LINE_USAGE_H_
#define CLEAVE_TOOLS_COMMAND_LINE_USAGE_H_

#include <string>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::tools {

enum class ErrorFormat { kText, kJson };

// The format of errors that a command line asks for with `--error-format`, even if something else in it is wrong.
ErrorFormat FormatAskedFor(const std::vector<std::string>& words);

// "error: MESSAGE" and "help: HELP" (if not empty) on separate lines, or one JSON object with the fields of a
// diagnostic, whose code is null. Ends with a newline.
std::string UsageErrorText(ErrorFormat format, const std::string& message, const std::string& help);

// All of them, as RenderText has them, or one JSON object a line.
std::string DiagnosticsText(ErrorFormat format, const Diagnostics& diagnostics, const SourceSet& sources);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_COMMAND_LINE_USAGE_H_
