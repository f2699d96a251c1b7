// The curves of a run: `cleave watch RUN`.
#ifndef CLEAVE_TOOLS_WATCH_WATCH_H_
#define CLEAVE_TOOLS_WATCH_WATCH_H_

#include <iostream>
#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeWatch(CLI::App& app);

// Plots the curves of a folder with a metrics.jsonl, or of such a file, until its run has ended, or once where standard
// output is no terminal. Returns kDone; kUsage; kModelWrong, after a line on `err`, where there is no such file, or it
// is none.
ExitCode RunWatch(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                  std::ostream& out = std::cout, std::ostream& err = std::cerr);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WATCH_WATCH_H_
