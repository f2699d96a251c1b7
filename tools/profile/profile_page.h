// A run beside its plan as a page for a browser, in the form of the pages of plans.
#ifndef CLEAVE_TOOLS_PROFILE_PROFILE_PAGE_H_
#define CLEAVE_TOOLS_PROFILE_PROFILE_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tools/profile/profile.h"

namespace cleave::tools {

// Verdict, kinds, largest surprises, measured against predicted, memory, and the step as a row of kernels. `source`:
// the text of the model's file, of which the lines of surprises are shown; empty where it is not at hand. The same
// arguments give the same bytes.
std::string ProfilePage(const Comparison& comparison, absl::string_view source);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_PROFILE_PROFILE_PAGE_H_
