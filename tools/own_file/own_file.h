// Files of one kind that a command writes to a place that the user names: nothing else is ever replaced by one.
//
//   constexpr OwnKind kPage{.first = "<!doctype html><!-- a plan of cleave -->\n", .what = "the page of a plan"};
//   CLEAVE_RETURN_IF_ERROR(CheckOwnPlace("plan.html", kPage));   // Before the work.
//   CLEAVE_RETURN_IF_ERROR(WriteOwn("plan.html", kPage, text));
#ifndef CLEAVE_TOOLS_OWN_FILE_OWN_FILE_H_
#define CLEAVE_TOOLS_OWN_FILE_OWN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace cleave::tools {

struct OwnKind {
  absl::string_view first;  // With what every file of the kind begins.
  absl::string_view what;   // "the page of a plan", for messages.
};

// An error where `path` is something else than a file of the kind: FailedPrecondition; Unavailable where it cannot be
// read.
absl::Status CheckOwnPlace(const std::string& path, const OwnKind& kind);

// Writes the file, where CheckOwnPlace allows it: under another name, which is then renamed. Unavailable where it
// cannot. REQUIRES: `text` begins as the kind says.
absl::Status WriteOwn(const std::string& path, const OwnKind& kind, absl::string_view text);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_OWN_FILE_OWN_FILE_H_
