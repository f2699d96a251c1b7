#include "tools/driver/report.h"

#include "absl/strings/str_cat.h"

namespace cleave::tools {

std::string BugText(absl::string_view stage, absl::string_view what) {
  return absl::StrCat("internal error in ", stage, ": ", what,
                      "\nnothing was written; please report this together with the model file\n");
}

std::string ReportText(const Report& report, ErrorFormat format) {
  return absl::StrCat(report.bug, DiagnosticsText(format, report.diagnostics, report.sources));
}

ExitCode ExitCodeOf(const Report& report) {
  if (!report.bug.empty()) return ExitCode::kInternal;
  for (const Diagnostic& diagnostic : report.diagnostics.items()) {
    switch (diagnostic.code) {
      case Code::kE0313:
      case Code::kE0801:
      case Code::kE0802:
        return ExitCode::kNoPlanFits;
      case Code::kE0601:
      case Code::kE0602:
      case Code::kE0603:
        return ExitCode::kEnvironment;
      default:
        break;
    }
  }
  return ExitCode::kModelWrong;
}

}  // namespace cleave::tools
