#include "runtime/starter/restarts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "runtime/error/error.h"
#include "runtime/file/file.h"
#include "runtime/starter/processes.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr char kLog[] = "log_output/restarts.log";
constexpr int kLongestPause = 60;

// The largest K of the folders `step_K`; -1: there is none.
int64_t LastCheckpoint(const std::string& checkpoints) {
  int64_t last = -1;
  for (const std::string& name : NamesIn(checkpoints)) {
    constexpr char kStep[] = "step_";
    if (name.rfind(kStep, 0) != 0) continue;
    const char* const number = name.c_str() + sizeof kStep - 1;
    char* end = nullptr;
    const long long step = std::strtoll(number, &end, 10);
    if (end != number && *end == '\0') last = std::max<int64_t>(last, step);
  }
  return last;
}

std::string CodeText(int code) {
  if (code <= 128) return Format("exit code %d", code);
  return Format("exit code %d, signal %d (%s)", code, code - 128, strsignal(code - 128));
}

// The signals that this process gets.
class Signals {
 public:
  Signals() {
    const sigset_t watched = WatchedSignals();
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    file_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  // The first one that ends jobs, once it has come.
  const std::optional<int>& end() const { return end_; }

  // Waits until signals come, for at most so many seconds. What ends jobs is passed on to `child`, where that is not 0.
  void Wait(double seconds, pid_t child) {
    pollfd wait = {file_, POLLIN, 0};
    poll(&wait, 1, static_cast<int>(seconds * 1000));
    signalfd_siginfo info;
    while (read(file_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) continue;
      if (!end_.has_value()) end_ = number;
      if (child != 0) kill(child, number);
    }
  }

 private:
  int file_ = -1;
  std::optional<int> end_;
};

// Runs an attempt in a process of its own, and returns its exit code.
int RunApart(const std::function<int(int)>& run, int attempt, Signals& signals) {
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) Die(ExitCode::kEnvironment, Format("cannot start the job: %s", std::strerror(errno)));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(128 + SIGKILL);
    _exit(run(attempt));
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) signals.Wait(1, child);
  EndOrphans();
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

void SayAndLog(const std::string& text) {
  std::fprintf(stderr, "run.sh: %s\n", text.c_str());
  FILE* const log = std::fopen(kLog, "ae");
  if (log == nullptr) return;  // The disk may be full.
  char when[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  std::fprintf(log, "%s %s\n", when, text.c_str());
  std::fclose(log);
}

bool MayEndBetter(int exit_code) {
  return exit_code == static_cast<int>(ExitCode::kEnvironment) || exit_code == static_cast<int>(ExitCode::kFailed) ||
         exit_code > 128;
}

int RunWithRestarts(int most, const std::string& checkpoints, const std::function<int(int)>& run) {
  // Processes of an attempt that have lost the one that started them belong to this one, which ends them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Signals signals;
  int64_t saved = LastCheckpoint(checkpoints);
  int in_a_row = 0;
  for (int attempt = 1;; ++attempt) {
    const double began = Now();
    const int code = RunApart(run, attempt, signals);
    if (signals.end().has_value() || !MayEndBetter(code)) return code;
    const int64_t saved_now = LastCheckpoint(checkpoints);
    if (saved_now > saved) in_a_row = 0;
    saved = saved_now;
    const std::string end =
        Format("attempt %d ended after %.0f s with %s", attempt, Now() - began, CodeText(code).c_str());
    const std::string from =
        saved < 0 ? "nothing is saved in `" + checkpoints + "`" : Format("step %" PRId64 " is saved", saved);
    if (in_a_row == most) {
      SayAndLog(Format("%s; %s; the job is given up after %d restarts without a new checkpoint", end.c_str(),
                       from.c_str(), most));
      return code;
    }
    const int pause = std::min(kLongestPause, 1 << std::min(in_a_row, 6));
    ++in_a_row;
    SayAndLog(Format("%s; %s; restart %d of %d in %d s", end.c_str(), from.c_str(), in_a_row, most, pause));
    for (const double until = Now() + pause; Now() < until && !signals.end().has_value();) {
      signals.Wait(until - Now(), 0);
    }
    if (signals.end().has_value()) return 128 + *signals.end();
  }
}

}  // namespace cleave::runtime
