// Measures the user's machines and describes them in a cluster file.
//
//   cleave calibrate --devices 2 --out here.json
//   cleave plan net.model --cluster here.json
//
// The program that measures is generated as that of a model is, compiled here and started on the machines, so it works
// from any installation. calibrate.cc is the order of what is done.
#ifndef CLEAVE_TOOLS_CALIBRATE_CALIBRATE_H_
#define CLEAVE_TOOLS_CALIBRATE_CALIBRATE_H_

#include <string>
#include <vector>

#include "tools/command_line/parse.h"

namespace cleave::tools {

// Adds the options, to be shown.
void DescribeCalibrate(CLI::App& app);

// Prints how close the predictions of the file are to what was measured. Returns kUsage; kModelWrong where the file of
// hosts is wrong; kEnvironment where something is missing, or the file cannot be written; the exit code of the program
// that measures; or 128 + the signal that ended it. A file that is there is replaced only with `--force`, and only at
// the end, as a whole.
ExitCode RunCalibrate(const std::string& name, const std::string& summary, const std::vector<std::string>& words);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CALIBRATE_CALIBRATE_H_
