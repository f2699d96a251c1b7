// What docs/language.md says of a name: of a setting, a layer, an op, an initialiser, an item or a statement.
#ifndef CLEAVE_TOOLS_LSP_PAGES_H_
#define CLEAVE_TOOLS_LSP_PAGES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::tools {

// Markdown; empty where the reference has nothing of that name. `place`: "train" and "parallel" for their settings, ""
// for all other names.
std::string PageOf(absl::string_view name, absl::string_view place = "");

// The words and calls that a setting takes, as its page lists them.
std::vector<std::string> ChoicesOf(absl::string_view setting, absl::string_view place);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_PAGES_H_
