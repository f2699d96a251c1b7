#include "tools/driver/launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file/file.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

// What `make` has printed.
std::string TextOf(const std::string& log) {
  return ReadFile(log, {.what = "log", .most_bytes = int64_t{64} << 20}).value_or("");
}

bool IsOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Runs a command in `folder`. Returns its exit code, or 128 + signal if a signal ended it. Output goes to `log` unless
// that is empty; it is then in the C locale, because the compiler reads it.
absl::StatusOr<int> Run(const std::string& folder, std::vector<std::string> command, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return absl::UnavailableError(absl::StrCat("cannot start `", command[0], "`: ", strerror(errno)));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // It ends with the compiler.
    if (!log.empty()) {
      const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
      setenv("LC_ALL", "C", 1);
      if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) _exit(127);
    }
    if (chdir(folder.c_str()) != 0) _exit(127);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::UnavailableError(absl::StrCat("lost `", command[0], "`: ", strerror(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// How `launch` connects the ranks, as a value of COMM in the Makefile.
std::string CommOf(const std::string& target, const std::string& launch) {
  if (launch.empty() || launch == "mpirun") return "mpi";
  if (launch == "local") return "local";
  return target == "cuda" ? "nccl" : "gloo";
}

// A Makefile that does not find a library ends with "Makefile:83: *** NCCL is not there: install it.  Stop.". Empty
// where it was something else that went wrong.
std::string WhatIsMissing(const std::string& log) {
  const std::vector<std::string> parts = absl::StrSplit(log, absl::MaxSplits("*** ", 1));
  const size_t end = parts.back().find(".  Stop.");
  return absl::StartsWith(log, "Makefile:") && end != std::string::npos ? parts.back().substr(0, end) : "";
}

// It is searched in the way in which the Makefile does it.
bool HasNvcc() {
  const char* home = std::getenv("CUDA_HOME");
  const std::string toolkit = home == nullptr ? "/usr/local/cuda" : home;
  return IsOnPath("nvcc") || access(absl::StrCat(toolkit, "/bin/nvcc").c_str(), X_OK) == 0;
}

}  // namespace

size_t WordsBeforeLaunch(const std::vector<std::string>& arguments) {
  size_t count = 0;
  while (arguments.size() > count + 1 && (arguments[count] == "--restarts" || arguments[count] == "--hosts"))
    count += 2;
  return count;
}

std::string LaunchWay(const std::string& written, const std::vector<std::string>& arguments) {
  const size_t at = WordsBeforeLaunch(arguments);
  return arguments.size() > at + 1 && arguments[at] == "--launch" ? arguments[at + 1] : written;
}

absl::StatusOr<int> CountGpus() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return absl::UnavailableError("this machine has no NVIDIA driver (libcuda.so.1)");
  const auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  const bool found = initialize != nullptr && count_devices != nullptr && initialize(0) == 0 &&
                     count_devices(&devices) == 0 && devices > 0;
  if (!found) return absl::UnavailableError("the NVIDIA driver of this machine finds no GPU");
  return devices;
}

absl::Status CanBuildAndRun(const std::string& target, const std::string& launch) {
  std::vector<std::pair<std::string, std::string>> tools = {{"make", "make"}};
  if (CommOf(target, launch) == "mpi") {
    tools.insert(tools.end(), {{"mpicxx", "libopenmpi-dev"}, {"mpirun", "openmpi-bin"}});
  } else {
    tools.push_back({"g++", "g++"});
  }
  for (const auto& [tool, package] : tools) {
    if (!IsOnPath(tool)) {
      return absl::UnavailableError(absl::StrCat("`", tool, "` is not installed (Debian package ", package, ")"));
    }
  }
  if (target != "cuda") return absl::OkStatus();
  if (!HasNvcc()) return absl::UnavailableError("`nvcc` is not installed (NVIDIA's CUDA toolkit)");
  return CountGpus().status();
}

std::string ProgramOf(const std::string& target, const std::string& launch) {
  const std::string comm = CommOf(target, launch);
  return comm == "mpi" ? "program" : absl::StrCat("program_", comm);
}

std::vector<std::string> BuildCommand(const std::string& target, const std::string& launch) {
  return {"make", absl::StrCat("COMM=", CommOf(target, launch))};
}

absl::StatusOr<LaunchResult> OutcomeOfBuild(const std::string& folder, int exit_code) {
  if (exit_code == 0) return LaunchResult{.exit_code = 0, .failed_step = "", .build_log = ""};
  std::string said = TextOf(absl::StrCat(folder, "/", kBuildLog));
  if (const std::string missing = WhatIsMissing(said); !missing.empty()) return absl::UnavailableError(missing);
  return LaunchResult{.exit_code = exit_code, .failed_step = "make", .build_log = std::move(said)};
}

absl::StatusOr<LaunchResult> Build(const std::string& target, const std::string& folder, const std::string& launch) {
  const std::string log = absl::StrCat(folder, "/", kBuildLog);
  CLEAVE_ASSIGN_OR_RETURN(const int built, Run(folder, BuildCommand(target, launch), log));
  return OutcomeOfBuild(folder, built);
}

absl::StatusOr<LaunchResult> BuildAndRun(const std::string& target, const std::string& folder,
                                         const std::string& launch, const std::vector<std::string>& arguments) {
  CLEAVE_ASSIGN_OR_RETURN(LaunchResult built, Build(target, folder, launch));
  if (built.exit_code != 0) return built;
  std::vector<std::string> command = {"./run.sh"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  CLEAVE_ASSIGN_OR_RETURN(const int ran, Run(folder, std::move(command), ""));
  return LaunchResult{.exit_code = ran, .failed_step = ran == 0 ? "" : "./run.sh", .build_log = ""};
}

}  // namespace cleave::tools
