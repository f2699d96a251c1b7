// A mistake on the command line, in the format in which the user wants errors.
#ifndef CLEAVE_TOOLS_DRIVER_USAGE_H_
#define CLEAVE_TOOLS_DRIVER_USAGE_H_

#include <string>

#include "tools/driver/options.h"

namespace cleave::tools {

// "error: MESSAGE" and "help: HELP" (if not empty) on separate lines, or one JSON object with the fields of a
// diagnostic, whose code is null. Ends with a newline.
std::string UsageErrorText(ErrorFormat format, const std::string& message, const std::string& help);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_USAGE_H_
