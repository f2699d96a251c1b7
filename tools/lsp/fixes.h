// Edits that a diagnostic's help describes and that need no thought.
#ifndef CLEAVE_TOOLS_LSP_FIXES_H_
#define CLEAVE_TOOLS_LSP_FIXES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/lsp/findings.h"

namespace cleave::tools {

struct Fix {
  std::string title;
  FileRange range;  // What is replaced.
  std::string text;
};

// `text`: that of the file of the primary label, in which the labels lie.
std::vector<Fix> FixesOf(const FoundDiagnostic& diagnostic, absl::string_view text);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_FIXES_H_
