// The language server on standard input and output.
#ifndef CLEAVE_TOOLS_LSP_LSP_H_
#define CLEAVE_TOOLS_LSP_LSP_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options, to be shown.
void DescribeLsp(CLI::App& app);

// Serves one client until it says `exit`. Returns kDone where it has said `shutdown` before, else kProgramFailed.
ExitCode RunLsp(const std::string& name, const std::string& summary, const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_LSP_LSP_H_
