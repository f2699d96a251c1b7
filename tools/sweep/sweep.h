// Runs of one model with the product of settings.
//
//   cleave sweep net.model --devices 2 --set lr=1e-3,3e-4 --set width=128,256 -- --steps 500
//
// What only flags of the program change needs one compile; other settings need a program for each of their choices. All
// settings are checked before anything runs. A sweep that was interrupted goes on where it was.
#ifndef CLEAVE_TOOLS_SWEEP_SWEEP_H_
#define CLEAVE_TOOLS_SWEEP_SWEEP_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options and arguments, to be shown.
void DescribeSweep(CLI::App& app);

// Of the words that follow the name of the command; prints what is done, and at the end a table. Returns 0 where every
// run was done, or its loss was not finite, unless that holds of all (7); else the exit code of the first run that
// failed.
ExitCode RunSweep(const std::string& name, const std::string& summary, const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SWEEP_SWEEP_H_
