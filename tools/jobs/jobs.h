// Commands that run in folders of their own, several at a time, and end with the command that started them.
#ifndef CLEAVE_TOOLS_JOBS_JOBS_H_
#define CLEAVE_TOOLS_JOBS_JOBS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cleave::tools {

struct Job {
  std::string folder;
  std::vector<std::string> command;  // A program, found from `folder` or on PATH, and its arguments.
  std::string log;                   // In `folder`: gets what it prints. Empty: it prints where this process does.
};

// Runs all of them, at most so many at a time, in order; returns 0, or the signal that ended this. `environment` is
// that of the job in a slot of 0 to most_at_once - 1. `ended` is called with the exit code of each, 128 + signal where
// one ended it.
//
// At SIGINT, SIGTERM or SIGHUP no other begins, and those that run get SIGTERM, at which programs save; at a second one
// SIGINT, which ends them at once. No job outlives this process.
int RunJobs(const std::vector<Job>& jobs, size_t most_at_once,
            const std::function<std::vector<std::pair<std::string, std::string>>(size_t slot)>& environment,
            const std::function<void(size_t job, int exit_code)>& ended);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_JOBS_JOBS_H_
