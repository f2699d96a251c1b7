// A job that is started again when it ends by something that need not happen again.
//
//   return RunWithRestarts(5, "checkpoints", [](int attempt) { return RunJob(attempt); });
//
// Each attempt runs in a process of its own, of which nothing is left when the next one begins. What is said of an
// attempt's end goes to standard error and, with the time, to `log_output/restarts.log`.
#ifndef CLEAVE_RUNTIME_STARTER_RESTARTS_H_
#define CLEAVE_RUNTIME_STARTER_RESTARTS_H_

#include <functional>
#include <string>

namespace cleave::runtime {

// To standard error and, with the time, to `log_output/restarts.log`.
void SayAndLog(const std::string& text);

// Whether an attempt that ended so may end better: a process was lost or killed, a disk was full, a port was taken.
// Wrong usage, wrong data and a loss that is not finite would be the same again.
bool MayEndBetter(int exit_code);

// Returns the exit code of the last attempt. `run` is given the number of the attempt, from 1. `most`: attempts that
// may follow each other without a new `step_K` in the folder `checkpoints`; a job that saves is never given up, and one
// that fails before it saves is. Between them pass 1, 2, 4 … and at most 60 seconds. SIGHUP, SIGINT and SIGTERM end the
// attempt, and no other follows.
int RunWithRestarts(int most, const std::string& checkpoints, const std::function<int(int attempt)>& run);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_STARTER_RESTARTS_H_
