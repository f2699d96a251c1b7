// Runs the processes of a generated program, for run.sh.
//
//   starter RESTARTS WAY PROGRAMS HOSTS TABLE HERE COMMAND…
//
// starts the processes of this host of a job, and ends when all have ended. RESTARTS: how often it begins again, as
// restarts.h has it; the COMMAND then gets the flag --auto-resume. PROGRAMS: for how many ranks there are programs, the
// most first, as "8:./program 4:./ranks_4/program"; the first is started, or with HOSTS, a file as hosts.h has it, the
// first for which there is room. The first words `{ranks}` and `{program}` of the COMMAND stand for what is started.
//
// WAY is as in `run.sh --launch`, or this-rank. Of rank-table: the path of the TABLE, and which of its ranks are HERE,
// as `scheduler ranks` prints them; else these are empty. The exit code is 2 for wrong usage, 5 where a folder cannot
// be used, and else that of the process that failed first.
//
// Reading guide: Run decides which processes a way has; what is above it looks after the folders of the logs.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/file/file.h"
#include "runtime/lock/lock.h"
#include "runtime/starter/environment.h"
#include "runtime/starter/hosts.h"
#include "runtime/starter/processes.h"
#include "runtime/starter/restarts.h"

namespace cleave::runtime {
namespace {

constexpr char kLogs[] = "log_output";

// Ranks of one host know each other by a text that nobody else can guess. Those of several hosts are given one by who
// starts them.
void MakeSecret() {
  unsigned char bytes[16];
  if (!Variable("CLEAVE_SECRET").empty() || getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return;
  std::string secret;
  for (const unsigned char byte : bytes) secret += Format("%02x", byte);
  setenv("CLEAVE_SECRET", secret.c_str(), 1);
}

// mpirun waits for ever where it cannot write its own files.
void CheckFolderOfMpirun() {
  std::string folder = "/tmp";
  for (const char* name : {"TMP", "TEMP", "TMPDIR", "OMPI_MCA_orte_tmpdir_base"}) {
    if (!Variable(name).empty()) folder = Variable(name);
  }
  std::string path = folder + "/cleave_XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  const int problem = file < 0 ? errno : posix_fallocate(file, 0, 1 << 20);
  if (file >= 0) unlink(path.c_str());
  if (file >= 0) close(file);
  if (problem != 0) {
    Die(ExitCode::kEnvironment,
        Format("mpirun cannot write to the folder `%s` (TMPDIR): %s", folder.c_str(), std::strerror(problem)));
  }
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Removes the logs that earlier attempts to run a rank have left: stdout.3.
void ForgetAttempts(const std::string& folder) {
  for (const std::string& name : NamesIn(folder)) {
    for (const char* const log : {"stdout.", "stderr."}) {
      if (name.rfind(log, 0) == 0) unlink((folder + "/" + name).c_str());
    }
  }
}

// Gives the logs of the last attempt another name, as stdout.3, that this attempt does not overwrite. The last ten
// stay. Before the first attempt removes those of earlier jobs.
void KeepLogs(const std::string& folder, int attempt) {
  constexpr int kMost = 10;
  if (attempt == 1) return ForgetAttempts(folder);
  for (const char* const log : {"stdout", "stderr"}) {
    const std::string path = folder + "/" + log;
    std::rename(path.c_str(), Format("%s.%d", path.c_str(), attempt - 1).c_str());
    unlink(Format("%s.%d", path.c_str(), attempt - 1 - kMost).c_str());
  }
}

// A rank whose logs are there. Open MPI 4 by itself gives the numbers of ten ranks and more as many digits, as rank.00.
struct Logs {
  std::string folder;
  int rank = 0;
  bool has_zeros = false;
};

// Nothing that is not such a folder.
std::vector<Logs> AllLogs() {
  constexpr char kRank[] = "rank.";
  const std::string all = Format("%s/1", kLogs);
  std::vector<Logs> logs;
  if (!IsFolder(kLogs) || !IsFolder(all)) return logs;
  for (const std::string& name : NamesIn(all)) {
    if (name.rfind(kRank, 0) != 0) continue;
    const std::string number = name.substr(sizeof kRank - 1);
    const bool is_number =
        !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || !IsFolder(all + "/" + name)) continue;
    logs.push_back({all + "/" + name, std::atoi(number.c_str()), number.size() > 1 && number[0] == '0'});
  }
  return logs;
}

// Removes the logs that earlier jobs have left of ranks from `first` on. Several processes may do so at once.
void ForgetRanksFrom(int first) {
  for (const Logs& logs : AllLogs()) {
    if (!logs.has_zeros && logs.rank < first) continue;
    ForgetAttempts(logs.folder);
    for (const char* const log : {"/stdout", "/stderr"}) unlink((logs.folder + log).c_str());
    rmdir(logs.folder.c_str());
  }
}

// What the program is told by a flag, as `--out FOLDER` or `--out=FOLDER`; empty where it is not told.
std::string ValueOf(const std::string& flag, const std::vector<std::string>& command) {
  std::string value;
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size()) value = command[i + 1];
    if (command[i].rfind(flag + "=", 0) == 0) value = command[i].substr(flag.size() + 1);
  }
  return value;
}

// Where the program saves.
std::string CheckpointsOf(const std::vector<std::string>& command) {
  const std::string folder = ValueOf("--checkpoints", command), out = ValueOf("--out", command);
  return !folder.empty() ? folder : (out.empty() ? "" : out + "/") + "checkpoints";
}

// Whether the program is told to read from standard input, `--chat` or `--chat-file -`. Its rank 0 does, so that all of
// its processes may have it.
bool ReadsInput(const std::vector<std::string>& command) {
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "--chat" || command[i] == "--chat-file=-") return true;
    if (command[i] == "--chat-file" && i + 1 < command.size() && command[i + 1] == "-") return true;
  }
  return false;
}

// The folder of the logs is locked for as long as the job runs, and rank 0 locks the one that it writes to.
void CheckFolderOfProgram(const std::vector<std::string>& command) {
  struct stat logs, out;
  const std::string folder = ValueOf("--out", command);
  if (stat(kLogs, &logs) != 0 || stat(folder.c_str(), &out) != 0) return;
  if (logs.st_dev != out.st_dev || logs.st_ino != out.st_ino) return;
  Die(ExitCode::kUsage, Format("`--out %s` is the folder of the ranks' logs: name another one", folder.c_str()));
}

// A process of the job, which writes to logs of that number.
Process RankProcess(int attempt, int number, std::vector<std::pair<std::string, std::string>> environment,
                    const std::vector<std::string>& command) {
  const std::string logs = Format("%s/1/rank.%d", kLogs, number);
  for (const std::string& folder : {std::string(kLogs), Format("%s/1", kLogs), logs}) {
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      Die(ExitCode::kEnvironment, Format("cannot make the folder `%s`: %s", folder.c_str(), std::strerror(errno)));
    }
  }
  KeepLogs(logs, attempt);
  environment.emplace_back("CLEAVE_RANK_LOGS", "1");  // Lines in it are not shown again and again.
  Process process{Format("rank %d", number), logs, std::move(environment), command};
  process.shows_output = number == 0 || ValueOf("--log-ranks", command) == "all";
  return process;
}

// Of the job for so many ranks.
struct Program {
  std::string ranks;
  std::string path;
};

// "8:./program 4:./ranks_4/program"
std::vector<Program> ReadPrograms(const std::string& text) {
  std::vector<Program> programs;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t colon = std::min(text.find(':', begin), end);
    programs.push_back({text.substr(begin, colon - begin), text.substr(std::min(colon + 1, end), end - colon - 1)});
    begin = end + 1;
  }
  if (programs.empty()) Die(ExitCode::kUsage, "there is no program to start");
  return programs;
}

// "1 slot", "2 slots"
std::string CountText(const std::string& count, const std::string& what) {
  return count + " " + what + (count == "1" ? "" : "s");
}

// The program with most ranks for which the hosts that answer have room. Writes these where mpirun reads them.
Program ProgramWithRoom(int attempt, const std::string& way, const std::vector<Program>& programs,
                        const std::string& path) {
  const HostsLeft left = FindHosts(path, /*only_here=*/way != "mpirun");
  std::string lost;
  for (const std::string& host : left.lost) lost += (lost.empty() ? "; no answer from " : ", ") + host;
  const std::string slots = CountText(std::to_string(left.slots), "slot");
  for (const Program& program : programs) {
    if (WorkersOrDie("the number of ranks", program.ranks) > left.slots) continue;
    if (way == "mpirun") WriteHosts(left.hosts, Format("%s/hosts", kLogs));
    const bool is_first = &program == &programs[0];
    if (programs.size() > 1 && (attempt > 1 || !is_first)) {
      SayAndLog(Format("attempt %d runs on %s%s: `%s` has %s%s", attempt, CountText(program.ranks, "rank").c_str(),
                       is_first ? "" : (" in place of " + programs[0].ranks).c_str(), path.c_str(), slots.c_str(),
                       lost.c_str()));
    }
    return program;
  }
  SayAndLog(Format("attempt %d is not started: `%s` has %s%s, and the smallest program needs %s", attempt, path.c_str(),
                   slots.c_str(), lost.c_str(), programs.back().ranks.c_str()));
  std::exit(static_cast<int>(ExitCode::kEnvironment));
}

// The first such word becomes another one.
void Replace(const std::string& word, const std::string& other, std::vector<std::string>& command) {
  const auto found = std::find(command.begin(), command.end(), word);
  if (found != command.end()) *found = other;
}

// The program beside this one.
std::string Scheduler(const std::string& self) { return self.substr(0, self.rfind('/') + 1) + "scheduler"; }

std::vector<int> Numbers(const std::string& text) {
  std::vector<int> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long number = std::strtol(at, &end, 10);
    if (end == at) break;
    numbers.push_back(static_cast<int>(number));
    at = end;
  }
  return numbers;
}

// What this process was told of the job.
struct JobSettings {
  std::string way;
  std::vector<Program> programs;
  std::string hosts;  // A file, or empty.
  std::string table;
  std::vector<int> here;
  std::vector<std::string> command;
};

int Run(int attempt, const JobSettings& job, const std::string& self) {
  const std::string& way = job.way;
  std::vector<std::string> command = job.command;
  if (attempt > 1) command.push_back("--auto-resume");
  std::vector<Process> processes;
  std::vector<std::pair<std::string, int>> started;
  // Nobody else may start a job in this folder while this one runs. A job of several hosts is locked by its rank 0
  // alone, as all its processes may share the folder.
  std::optional<FolderLock> lock;
  const auto take_lock = [&lock, &command] {
    Result<FolderLock> taken = FolderLock::Take(kLogs);
    if (!taken.ok()) Die(taken.error().code, taken.error().message);
    lock.emplace(std::move(taken.value()));
    CheckFolderOfProgram(command);
  };
  const bool is_whole = way == "mpirun" || way == "local" || (way == "dynamic" && Variable("CLEAVE_SCHEDULER").empty());
  if (is_whole) take_lock();
  const Program program = job.hosts.empty() ? job.programs[0] : ProgramWithRoom(attempt, way, job.programs, job.hosts);
  const std::string& count = program.ranks;
  const int ranks = WorkersOrDie("the number of ranks", count);
  Replace("{ranks}", count, command);
  Replace("{program}", program.path, command);
  if (way == "mpirun") {
    CheckFolderOfMpirun();
    for (const Logs& logs : AllLogs()) KeepLogs(logs.folder, attempt);
    // When mpirun gets SIGTERM, it ends its ranks.
    processes.push_back({"mpirun", "", {}, command, SIGTERM, "OMPI_COMM_WORLD_RANK="});
  } else if (way == "this-rank") {
    std::string number = Variable("RANK_ID");
    for (const char* name : {"RANK", "SLURM_PROCID"}) {
      if (number.empty()) number = Variable(name);
    }
    processes.push_back(RankProcess(attempt, std::atoi(number.c_str()), {}, command));
  } else if (way == "rank-table") {
    unsetenv("CLEAVE_SCHEDULER");
    if (static_cast<int>(job.here.size()) == ranks) {
      take_lock();
      MakeSecret();
    }
    for (const int rank : job.here) {
      processes.push_back(
          RankProcess(attempt, rank, {{"RANK_TABLE_FILE", job.table}, {"RANK_ID", std::to_string(rank)}}, command));
    }
  } else if (way == "dynamic") {
    std::string scheduler = Variable("CLEAVE_SCHEDULER");
    if (scheduler.empty()) {
      MakeSecret();
      const Announced announced = StartAndRead(
          {"the scheduler", "", {{"CLEAVE_SCHEDULER", "127.0.0.1:0"}, {"CLEAVE_WORKERS", count}}, {Scheduler(self)}});
      if (announced.line.empty()) Die(ExitCode::kEnvironment, "the scheduler could not be started");
      scheduler = announced.line;
      started.emplace_back("the scheduler", announced.process);
    }
    const std::string local = Variable("CLEAVE_LOCAL_WORKERS");
    const int workers = local.empty() ? ranks : WorkersOrDie("CLEAVE_LOCAL_WORKERS", local);
    for (int rank = 0; rank < workers; ++rank) {
      processes.push_back(RankProcess(
          attempt, rank, {{"CLEAVE_SCHEDULER", scheduler}, {"CLEAVE_LOCAL_RANK", std::to_string(rank)}}, command));
    }
  } else if (way == "local") {
    processes.push_back(RankProcess(attempt, 0, {}, command));
    processes.back().name = "the process of all ranks";
  } else {
    Die(ExitCode::kUsage, Format("there is no way `%s` to start a job", way.c_str()));
  }
  ForgetRanksFrom(way == "local" ? 1 : ranks);
  for (Process& process : processes) process.reads_input = ReadsInput(command);
  return RunProcesses(processes, started);
}

int Main(int argc, char** argv) {
  if (argc < 8) Die(ExitCode::kUsage, "use `starter RESTARTS WAY PROGRAMS HOSTS TABLE HERE COMMAND…`");
  const int restarts = std::atoi(argv[1]);
  const JobSettings job = {.way = argv[2],
                           .programs = ReadPrograms(argv[3]),
                           .hosts = argv[4],
                           .table = argv[5],
                           .here = Numbers(argv[6]),
                           .command = {argv + 7, argv + argc}};
  const auto run = [&](int attempt) { return Run(attempt, job, argv[0]); };
  return restarts > 0 ? RunWithRestarts(restarts, CheckpointsOf(job.command), run) : run(1);
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) { return cleave::runtime::Main(argc, argv); }
