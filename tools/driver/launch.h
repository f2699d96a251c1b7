// Building and starting a generated program on this machine.
#ifndef CLEAVE_TOOLS_DRIVER_LAUNCH_H_
#define CLEAVE_TOOLS_DRIVER_LAUNCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/command_line/exit_code.h"

namespace cleave::tools {

struct LaunchResult {
  int exit_code = 0;        // Of the failed command; 128 + signal if a signal ended it.
  std::string failed_step;  // "make" or "./run.sh"; empty when both succeeded.
  std::string build_log;    // What a failed `make` has printed, in the C locale. It is also in the folder's make.log.
};

// How many of run.sh's `arguments` are its own flags before `--launch`, with their values.
size_t WordsBeforeLaunch(const std::vector<std::string>& arguments);

// How run.sh starts the ranks: by what its `arguments` say, `--launch WAY …`, and else by the default that was written
// into it.
std::string LaunchWay(const std::string& written, const std::vector<std::string>& arguments);

// The GPUs of this machine, at least one, as NVIDIA's driver says, which may be installed even if the toolkit is not.
// An Unavailable error says that there is none.
absl::StatusOr<int> CountGpus();

// Whether this machine can build and start a program for `target` ("cpu", "cuda") by `launch` (as in CompileOptions).
// An Unavailable error names a tool that is missing and where to get it, or says that there is no GPU.
absl::Status CanBuildAndRun(const std::string& target, const std::string& launch);

// The program that `make` makes for `launch`, which run.sh starts: "program", "program_gloo".
std::string ProgramOf(const std::string& target, const std::string& launch);

// The command that builds a program for `launch` in its folder. What it prints, in the C locale, belongs into the file
// kBuildLog there. OutcomeOfBuild says what has become of it; errors as below.
inline constexpr char kBuildLog[] = "make.log";
std::vector<std::string> BuildCommand(const std::string& target, const std::string& launch);
absl::StatusOr<LaunchResult> OutcomeOfBuild(const std::string& folder, int exit_code);

// Runs it. Errors as below.
absl::StatusOr<LaunchResult> Build(const std::string& target, const std::string& folder, const std::string& launch);

// Runs `make` for `launch` and then `./run.sh` with `arguments` in `folder`. What the program prints goes to our own
// standard output and error. An Unavailable error says which library the Makefile does not find.
absl::StatusOr<LaunchResult> BuildAndRun(const std::string& target, const std::string& folder,
                                         const std::string& launch, const std::vector<std::string>& arguments);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_LAUNCH_H_
