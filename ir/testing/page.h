// Pages and goldens of the project that tests compare with what the code gives, or rewrite: `bazel run //:bless`.
#ifndef CLEAVE_IR_TESTING_PAGE_H_
#define CLEAVE_IR_TESTING_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace cleave::ir {

// The file at `path` of the project must be `expected`. With CLEAVE_BLESS, the project's folder, it is written instead.
void CheckPage(const std::string& path, const std::string& expected);

// What stands there between the lines `begin` and `end`.
void CheckPartOfPage(const std::string& path, absl::string_view begin, absl::string_view end,
                     const std::string& expected);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_PAGE_H_
