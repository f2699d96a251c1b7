// `cleave serve`: HTTP in the form of OpenAI's interface in front of a generating program.
#ifndef CLEAVE_TOOLS_SERVE_SERVE_H_
#define CLEAVE_TOOLS_SERVE_SERVE_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

void DescribeServe(CLI::App& app);

// Starts the program and answers requests until a signal ends it (exit code 0) or the program ends (code 5).
ExitCode RunServe(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SERVE_SERVE_H_
