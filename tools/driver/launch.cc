#include "tools/driver/launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status/status_macros.h"

namespace cleave {
namespace {

bool IsOnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Runs a command in `folder`; returns its exit code, 128 + signal when a signal ended it. Output goes to `log` unless
// it is empty.
absl::StatusOr<int> Run(const std::string& folder, std::vector<std::string> command, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return absl::UnavailableError(absl::StrCat("cannot start `", command[0], "`: ", strerror(errno)));
  if (child == 0) {
    if (!log.empty()) {
      const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
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

}  // namespace

absl::StatusOr<LaunchResult> BuildAndRun(const std::string& folder, const std::string& launch) {
  const bool uses_mpi = launch.empty() || launch == "mpirun";
  std::vector<std::pair<std::string, std::string>> tools = {{"make", "make"}};
  if (uses_mpi) {
    tools.insert(tools.end(), {{"mpicxx", "libopenmpi-dev"}, {"mpirun", "openmpi-bin"}});
  } else {
    tools.push_back({"g++", "g++"});
  }
  for (const auto& [tool, package] : tools) {
    if (!IsOnPath(tool)) {
      return absl::UnavailableError(absl::StrCat("`", tool, "` is not installed (Debian package ", package, ")"));
    }
  }
  const std::string log = absl::StrCat(folder, "/make.log");
  CLEAVE_ASSIGN_OR_RETURN(const int built, Run(folder, {"make", uses_mpi ? "COMM=mpi" : "COMM=gloo"}, log));
  if (built != 0) {
    std::cerr << std::ifstream(log).rdbuf();
    return LaunchResult{.exit_code = built, .failed_step = "make"};
  }
  CLEAVE_ASSIGN_OR_RETURN(const int ran, Run(folder, {"./run.sh"}, ""));
  return LaunchResult{.exit_code = ran, .failed_step = ran == 0 ? "" : "./run.sh"};
}

}  // namespace cleave
