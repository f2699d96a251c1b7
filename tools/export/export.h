// The command `cleave export`: a checkpoint of an imported model becomes a folder of Hugging Face again.
#ifndef CLEAVE_TOOLS_EXPORT_EXPORT_H_
#define CLEAVE_TOOLS_EXPORT_EXPORT_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeExport(CLI::App& app);

// `words`: CHECKPOINT, FOLDER and options. Returns kModelWrong after diagnostics on `err` for what cannot be exported,
// kEnvironment for what cannot be written, and kUsage.
ExitCode RunExport(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                   std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_EXPORT_EXPORT_H_
