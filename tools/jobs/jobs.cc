#include "tools/jobs/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

namespace cleave::tools {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

sigset_t Watched() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
  return signals;
}

// Becomes the job. It is a group of its own: of Ctrl-C it gets what its starter makes of it.
[[noreturn]] void Become(const Job& job, const Environment& environment, pid_t starter) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const sigset_t watched = Watched();
  sigprocmask(SIG_UNBLOCK, &watched, nullptr);
  if (getppid() != starter || chdir(job.folder.c_str()) != 0) _exit(127);
  const int input = open("/dev/null", O_RDONLY);
  if (input < 0) _exit(5);
  dup2(input, STDIN_FILENO);
  if (!job.log.empty()) {
    const int output = open(job.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (output < 0) _exit(5);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : job.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

struct Started {
  size_t job = 0, slot = 0;
};

}  // namespace

int RunJobs(const std::vector<Job>& jobs, size_t most_at_once,
            const std::function<Environment(size_t slot)>& environment,
            const std::function<void(size_t job, int exit_code)>& ended) {
  const sigset_t watched = Watched();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  std::map<pid_t, Started> running;
  std::vector<bool> is_taken(most_at_once, false);
  int ending = 0;
  size_t next = 0;
  while (!running.empty() || (next < jobs.size() && ending == 0)) {
    while (ending == 0 && next < jobs.size() && running.size() < most_at_once) {
      size_t slot = 0;
      while (is_taken[slot]) ++slot;
      const Environment variables = environment(slot);
      const pid_t self = getpid(), child = fork();
      if (child == 0) Become(jobs[next], variables, self);
      if (child < 0) {
        ended(next++, 5);
        continue;
      }
      is_taken[slot] = true;
      running[child] = {next++, slot};
    }
    if (running.empty()) continue;
    const timespec second = {1, 0};
    const int number = sigtimedwait(&watched, nullptr, &second);
    if (number > 0 && number != SIGCHLD) {
      for (const auto& [child, unused] : running) kill(child, ending == 0 ? SIGTERM : SIGINT);
      if (ending == 0) ending = number;
    }
    int status = 0;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = running.find(child);
      if (found == running.end()) continue;
      const Started started = found->second;
      running.erase(found);
      is_taken[started.slot] = false;
      ended(started.job, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return ending;
}

}  // namespace cleave::tools
