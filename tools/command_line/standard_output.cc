#include "tools/command_line/standard_output.h"

#include <cstdio>
#include <iostream>
#include <string>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"

namespace cleave::tools {

ExitCode EndOutput(ExitCode code, ErrorFormat format) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout.good() && std::ferror(stdout) == 0) {
    return std::cerr.good() || code != ExitCode::kDone ? code : ExitCode::kEnvironment;
  }
  // The system gave its reason when the output was written, which may be long ago.
  const Diagnostic error = Error(Code::kE0602, "cannot write to standard output")
                               .Note("a part of what was printed is lost: the disk may be full");
  std::cerr << (format == ErrorFormat::kText ? RenderText(error, SourceSet()) : RenderJson(error, SourceSet()) + "\n");
  return ExitCode::kEnvironment;
}

}  // namespace cleave::tools
