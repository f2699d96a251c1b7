#include "tools/driver/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "tools/driver/report.h"

namespace cleave::tools {

ExitCode EndOutput(ExitCode code, ErrorFormat format) {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::cout.good() && std::ferror(stdout) == 0) {
    return std::cerr.good() || code != ExitCode::kDone ? code : ExitCode::kEnvironment;
  }
  Report report;
  report.diagnostics.Add(Error(Code::kE0602, absl::StrCat("cannot write to standard output", error == 0 ? "" : ": ",
                                                          error == 0 ? "" : std::strerror(error))));
  std::cerr << ReportText(report, format);
  return ExitCode::kEnvironment;
}

}  // namespace cleave::tools
