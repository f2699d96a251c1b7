// The processes of a job on this host: they are started together, and none of them outlives the others or this one.
//
//   return RunProcesses({{"rank 0", "log_output/1/rank.0", {{"RANK_ID", "0"}}, {"./program_gloo"}}, …});
//
// What each writes is shown, if it should be, and, in the folder of its logs, written to `stdout` and `stderr`. SIGHUP,
// SIGINT and SIGTERM end all of them, and so does SIGKILL of this process. At a first SIGTERM ranks have CLEAVE_GRACE
// seconds (30) to save what they have done. When one fails, the others have some seconds to end by themselves, since
// they usually say why. One that has been stopped for as long as a rank may stand still is ended. Processes that were
// started by others of them, and have lost those, are ended at the end.
#ifndef CLEAVE_RUNTIME_STARTER_PROCESSES_H_
#define CLEAVE_RUNTIME_STARTER_PROCESSES_H_

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

namespace cleave::runtime {

struct Process {
  std::string name;  // In messages: "rank 1".
  std::string logs;  // A folder; empty: it writes where this process does.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;
  int last_signal = 9;  // What it gets when this process is killed.
  // It starts ranks, which have this variable ("NAME="), and should end when one of them has; empty: it starts none. An
  // mpirun may wait for ever when a rank dies before it has reached it.
  std::string variable_of_ranks = {};
  bool shows_output = true;  // Its standard output goes where this process's does, too; its errors always do.
  bool reads_input = false;  // This process's standard input is its own; else it has none.
};

// Starts a process whose first line of output says something, and returns that line with the process; it belongs to the
// processes that RunProcesses waits for.
struct Announced {
  int process = -1;
  std::string line;  // Empty: it has ended instead.
};
Announced StartAndRead(const Process& process);

// Returns the exit code of the first that failed: 128 + signal where a signal has ended it. One that ended with 6, as a
// rank does that has lost another, counts only where no other failed. `started`: by StartAndRead, with their names.
int RunProcesses(const std::vector<Process>& processes, const std::vector<std::pair<std::string, int>>& started);

// The signals that end a job, and SIGCHLD. Under nohup SIGHUP is none of them: the job goes on without its terminal.
sigset_t WatchedSignals();

// Ends all children of this process, and what becomes its child when its parent has ended.
void EndOrphans();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_STARTER_PROCESSES_H_
