// The command `cleave data`: texts become what the `data` of a model reads.
#ifndef CLEAVE_TOOLS_DATA_DATA_H_
#define CLEAVE_TOOLS_DATA_DATA_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeData(CLI::App& app);

// `words`: `chat FILE...`, `show FOLDER` or `tokenize FILE...`, and options. Returns kModelWrong for files, a tokenizer
// or a template that are wrong, kEnvironment for what cannot be written, and kUsage.
ExitCode RunData(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                 std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_DATA_H_
