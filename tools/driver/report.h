// The diagnostics of a compile, and the exit code that follows from them.
#ifndef CLEAVE_TOOLS_DRIVER_REPORT_H_
#define CLEAVE_TOOLS_DRIVER_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "tools/command_line/exit_code.h"
#include "tools/driver/options.h"

namespace cleave::tools {

struct Report {
  SourceSet sources;
  Diagnostics diagnostics;
  std::string bug = {};  // A mistake of the compiler itself: the stage and what is wrong there. Empty: there is none.
};

// "internal error in partition: …" with what a user should do about it, for Report::bug.
std::string BugText(absl::string_view stage, absl::string_view what);

// The bug, then the diagnostics in order.
std::string ReportText(const Report& report, ErrorFormat format);

// The exit code of a compile that ends because of what was reported. REQUIRES: a bug or an error was.
ExitCode ExitCodeOf(const Report& report);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_REPORT_H_
