// The manual page of `cleave`, made of the descriptions that its parser reads.
#ifndef CLEAVE_TOOLS_SUBCOMMANDS_MAN_PAGE_H_
#define CLEAVE_TOOLS_SUBCOMMANDS_MAN_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/subcommands/subcommands.h"

namespace cleave::tools {

// For share/man/man1/cleave.1, in the macros of man(7). `version`: "1.0".
std::string ManPage(const std::vector<Subcommand>& subcommands, absl::string_view version);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SUBCOMMANDS_MAN_PAGE_H_
