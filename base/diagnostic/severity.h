// The word for a severity: "error", "warning", "note".
#ifndef CLEAVE_BASE_DIAGNOSTIC_SEVERITY_H_
#define CLEAVE_BASE_DIAGNOSTIC_SEVERITY_H_

#include "base/diagnostic/diagnostic.h"

namespace cleave {

inline absl::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

}  // namespace cleave

#endif  // CLEAVE_BASE_DIAGNOSTIC_SEVERITY_H_
