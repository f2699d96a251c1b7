// Building and starting a generated program on this machine.
#ifndef CLEAVE_TOOLS_DRIVER_LAUNCH_H_
#define CLEAVE_TOOLS_DRIVER_LAUNCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/driver/exit_code.h"

namespace cleave {

struct LaunchResult {
  int exit_code = 0;        // Of the failed command, 128 + signal when a signal ended it.
  std::string failed_step;  // "make" or "./run.sh"; empty when both succeeded.
};

// Runs `make` and then `./run.sh` in `folder`, whose way to start is `launch` ("" or "mpirun": with MPI, else with
// Gloo). What they print goes to our own standard output and error; `make` is
// shown only when it fails. An Unavailable error names a tool that is missing and the Debian package that has it.
absl::StatusOr<LaunchResult> BuildAndRun(const std::string& folder, const std::string& launch);

}  // namespace cleave

#endif  // CLEAVE_TOOLS_DRIVER_LAUNCH_H_
