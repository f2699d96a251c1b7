// What a machine has of what generated programs need to be built and started: a shell script, doctor.sh, which `cleave
// doctor` carries.
#ifndef CLEAVE_TOOLS_DOCTOR_DOCTOR_H_
#define CLEAVE_TOOLS_DOCTOR_DOCTOR_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options, to be shown.
void DescribeDoctor(CLI::App& app);

// Prints a line for each thing that is looked for, and how to install what is missing. Returns kDone where programs for
// the target can be built and started in some way; kEnvironment where they cannot; kUsage.
ExitCode RunDoctor(const std::string& name, const std::string& summary, const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DOCTOR_DOCTOR_H_
