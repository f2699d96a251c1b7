// Runs the processes of a generated program, for run.sh, and what they need beside the program itself.
//
//   starter run WAY RANKS TABLE COMMAND…    the processes of this host of a job of RANKS ranks, until all have ended;
//                                           WAY as in `run.sh --launch`, or this-rank; TABLE: of rank-table, else empty
//   starter scheduler                       the scheduler of a dynamic start: listens at CLEAVE_SCHEDULER, where port 0
//                                           is a free one, says on standard output where, gives CLEAVE_WORKERS ranks
//                                           their numbers, and ends with the job
//
// Exit codes are those of a program: 2 usage, 3 the table is wrong, 5 the address cannot be listened at, or a folder
// cannot be used, 6 ranks are missing or were lost; of `run`, that of the process that failed first.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/lock/lock.h"
#include "runtime/placement/placement.h"
#include "runtime/placement/rank_table.h"
#include "runtime/rendezvous/meeting.h"
#include "runtime/starter/processes.h"

namespace cleave::runtime {
namespace {

constexpr int kMostWorkers = 1 << 20;
constexpr char kLogs[] = "log_output";

template <typename T>
T& ValueOrDie(Result<T>& result) {
  if (!result.ok()) Die(result.error().code, result.error().message);
  return result.value();
}

// A variable of the environment; empty where it is not set.
std::string Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// A number of ranks.
int WorkersOrDie(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const long ranks = std::strtol(text.c_str(), &end, 10);
  if (ranks < 1 || ranks > kMostWorkers || *end != '\0') {
    Die(ExitCode::kUsage,
        Format("%s is `%s`, and must be the number of ranks, from 1 to %d", name.c_str(), text.c_str(), kMostWorkers));
  }
  return static_cast<int>(ranks);
}

// Whether the server is this host: by its name, or because this host has the address.
bool IsThisHost(const std::string& server) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return server == name || Meeting::Listen({server, 0}, {}).ok();
}

// The numbers of those ranks of the table that are on this host.
std::vector<int> RanksOfThisHost(const std::string& path) {
  Result<RankTable> table = ReadRankTable(path);
  const std::vector<RankTable::Device>& ranks = ValueOrDie(table).ranks;
  std::map<std::string, bool> is_here;  // By server. A host may have several names.
  std::vector<int> found;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string& server = ranks[rank].server;
    if (is_here.count(server) == 0) is_here[server] = IsThisHost(server);
    if (is_here[server]) found.push_back(static_cast<int>(rank));
  }
  if (!found.empty()) return found;
  Die(ExitCode::kEnvironment,
      Format("no server of the rank table `%s` is this host; the first is %s", path.c_str(), ranks[0].server.c_str()));
}

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

// Removes the logs that earlier jobs have left of ranks from `first` on, and nothing that is not such a log. mpirun
// writes the numbers of ten ranks and more with as many digits, as rank.00. Several processes may do so at once.
void ForgetRanksFrom(int first) {
  constexpr char kRank[] = "rank.";
  const std::string all = Format("%s/1", kLogs);
  if (!IsFolder(kLogs) || !IsFolder(all)) return;
  DIR* const folder = opendir(all.c_str());
  for (const dirent* entry; folder != nullptr && (entry = readdir(folder)) != nullptr;) {
    const std::string name = entry->d_name;
    if (name.rfind(kRank, 0) != 0) continue;
    const std::string number = name.substr(sizeof kRank - 1);
    const bool is_number =
        !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
    const bool has_zeros = number.size() > 1 && number[0] == '0';
    const std::string logs = all + "/" + name;
    if (!is_number || (!has_zeros && std::atoi(number.c_str()) < first) || !IsFolder(logs)) continue;
    for (const char* const log : {"/stdout", "/stderr"}) unlink((logs + log).c_str());
    rmdir(logs.c_str());
  }
  if (folder != nullptr) closedir(folder);
}

// A process of the job, which writes to logs of that number.
Process RankProcess(int number, std::vector<std::pair<std::string, std::string>> environment,
                    const std::vector<std::string>& command) {
  const std::string logs = Format("%s/1/rank.%d", kLogs, number);
  for (const std::string& folder : {std::string(kLogs), Format("%s/1", kLogs), logs}) {
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      Die(ExitCode::kEnvironment, Format("cannot make the folder `%s`: %s", folder.c_str(), std::strerror(errno)));
    }
  }
  return {Format("rank %d", number), logs, std::move(environment), command};
}

int Run(const std::string& way, const std::string& count, const std::string& table,
        const std::vector<std::string>& command, const std::string& self) {
  const int ranks = WorkersOrDie("the number of ranks", count);
  std::vector<Process> processes;
  std::vector<std::pair<std::string, int>> started;
  // Nobody else may start a job in this folder while this one runs. A job of several hosts is locked by its rank 0
  // alone, as all its processes may share the folder.
  std::optional<FolderLock> lock;
  const auto take_lock = [&lock] {
    Result<FolderLock> taken = FolderLock::Take(kLogs);
    lock.emplace(std::move(ValueOrDie(taken)));
  };
  if (way == "mpirun") {
    take_lock();
    CheckFolderOfMpirun();
    // When mpirun gets SIGTERM, it ends its ranks.
    processes.push_back({"mpirun", "", {}, command, SIGTERM, "OMPI_COMM_WORLD_RANK="});
  } else if (way == "this-rank") {
    std::string number = Variable("RANK_ID");
    for (const char* name : {"RANK", "SLURM_PROCID"}) {
      if (number.empty()) number = Variable(name);
    }
    processes.push_back(RankProcess(std::atoi(number.c_str()), {}, command));
  } else if (way == "rank-table") {
    unsetenv("CLEAVE_SCHEDULER");
    const std::vector<int> here = RanksOfThisHost(table);
    if (static_cast<int>(here.size()) == ranks) {
      take_lock();
      MakeSecret();
    }
    for (const int rank : here) {
      processes.push_back(RankProcess(rank, {{"RANK_TABLE_FILE", table}, {"RANK_ID", std::to_string(rank)}}, command));
    }
  } else if (way == "dynamic") {
    std::string scheduler = Variable("CLEAVE_SCHEDULER");
    if (scheduler.empty()) {
      take_lock();
      MakeSecret();
      const Announced announced = StartAndRead(
          {"the scheduler", "", {{"CLEAVE_SCHEDULER", "127.0.0.1:0"}, {"CLEAVE_WORKERS", count}}, {self, "scheduler"}});
      if (announced.line.empty()) Die(ExitCode::kEnvironment, "the scheduler could not be started");
      scheduler = announced.line;
      started.emplace_back("the scheduler", announced.process);
    }
    const std::string local = Variable("CLEAVE_LOCAL_WORKERS");
    const int workers = local.empty() ? ranks : WorkersOrDie("CLEAVE_LOCAL_WORKERS", local);
    for (int rank = 0; rank < workers; ++rank) {
      processes.push_back(
          RankProcess(rank, {{"CLEAVE_SCHEDULER", scheduler}, {"CLEAVE_LOCAL_RANK", std::to_string(rank)}}, command));
    }
  } else if (way == "local") {
    take_lock();
    processes.push_back(RankProcess(0, {}, command));
    processes.back().name = "the process of all ranks";
  } else {
    Die(ExitCode::kUsage, Format("there is no way `%s` to start a job", way.c_str()));
  }
  ForgetRanksFrom(way == "local" ? 1 : ranks);
  return RunProcesses(processes, started);
}

int RunScheduler() {
  // Otherwise a shell that stops it would print that.
  signal(SIGTERM, [](int number) { _exit(128 + number); });
  const std::string at = Variable("CLEAVE_SCHEDULER");
  const std::optional<Address> address = ParseAddress(at, /*least_port=*/0);
  if (!address.has_value()) {
    Die(ExitCode::kUsage, Format("CLEAVE_SCHEDULER is `%s`, and must say where to listen, such as `10.0.0.1:%d`",
                                 at.c_str(), kDefaultPort));
  }
  const int ranks = WorkersOrDie("CLEAVE_WORKERS", Variable("CLEAVE_WORKERS"));
  Result<double> timeout = JoinTimeout();
  Result<std::string> secret = JobSecret();
  Result<std::unique_ptr<Meeting>> meeting =
      Meeting::Listen(*address, {ranks, ValueOrDie(timeout), /*gives_ranks=*/true, {}, ValueOrDie(secret)});
  std::printf("%s\n", ToString(ValueOrDie(meeting)->address()).c_str());
  std::fflush(stdout);
  const MeetingEnd outcome = meeting.value()->Run();
  if (!outcome.message.empty()) std::fprintf(stderr, "error: %s\n", outcome.message.c_str());
  return static_cast<int>(outcome.code);
}

int Main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run" && argc > 5) return Run(argv[2], argv[3], argv[4], {argv + 5, argv + argc}, argv[0]);
  if (command == "scheduler" && argc == 2) return RunScheduler();
  Die(ExitCode::kUsage, "use `starter run WAY RANKS TABLE COMMAND…` or `starter scheduler`");
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) { return cleave::runtime::Main(argc, argv); }
