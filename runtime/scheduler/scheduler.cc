// Introduces ranks to each other that are started one by one.
//
//   scheduler                the scheduler of a dynamic start: listens at CLEAVE_SCHEDULER, where port 0 is a free one,
//                            says on standard output where, gives CLEAVE_WORKERS ranks their numbers, and ends with the
//                            job
//   scheduler ranks TABLE    prints which ranks of a rank table are on this host
//   scheduler size TABLE     prints how many ranks a rank table has
//
// Exit codes are those of a program: 2 usage, 3 the table is wrong, 5 the address cannot be listened at, or the table
// has no rank for this host, 6 ranks are missing or were lost.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"
#include "runtime/placement/rank_table.h"
#include "runtime/rendezvous/meeting.h"
#include "runtime/starter/environment.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

template <typename T>
T& ValueOrDie(Result<T>& result) {
  if (!result.ok()) Die(result.error().code, result.error().message);
  return result.value();
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

int PrintRanks(const std::string& table) {
  for (const int rank : RanksOfThisHost(table)) std::printf("%d ", rank);
  std::printf("\n");
  return 0;
}

int PrintSize(const std::string& path) {
  Result<RankTable> table = ReadRankTable(path);
  std::printf("%zu\n", ValueOrDie(table).ranks.size());
  return 0;
}

volatile sig_atomic_t starter = 0;  // The process that has started this one with ranks, or 0.

// Otherwise a shell that stops it would print that. Ranks that save what they have done still need it: where it has
// been started with them, it ends when that is over.
void EndAtSigterm() {
  starter = StarterOfThisProcess();
  struct sigaction action = {};
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  action.sa_sigaction = [](int number, siginfo_t* info, void*) {
    if (starter == 0 || info->si_pid == starter) _exit(128 + number);
  };
  sigaction(SIGTERM, &action, nullptr);
}

int RunScheduler() {
  EndAtSigterm();
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
  if (argc == 1) return RunScheduler();
  if (argc == 3 && argv[1] == std::string("ranks")) return PrintRanks(argv[2]);
  if (argc == 3 && argv[1] == std::string("size")) return PrintSize(argv[2]);
  Die(ExitCode::kUsage, "use `scheduler`, `scheduler ranks TABLE` or `scheduler size TABLE`");
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) { return cleave::runtime::Main(argc, argv); }
