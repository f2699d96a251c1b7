// Tells run.sh what it needs to know, or runs what it needs beside the program itself.
//
//   starter ranks TABLE     the rank_ids that a rank table gives to this host, one per line
//   starter scheduler       the scheduler of a dynamic start: listens at CLEAVE_SCHEDULER (port 0: a free one), says on
//                           standard output where, gives CLEAVE_WORKERS ranks their numbers, and ends with the job
//
// Exit codes are those of a program: 2 usage, 3 the table is wrong, 5 the address cannot be listened at, 6 ranks are
// missing or were lost.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "runtime/error/error.h"
#include "runtime/placement/placement.h"
#include "runtime/placement/rank_table.h"
#include "runtime/rendezvous/meeting.h"

namespace cleave::runtime {
namespace {

constexpr int kMostWorkers = 1 << 20;

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

int PrintRanksOfThisHost(const std::string& path) {
  Result<RankTable> table = ReadRankTable(path);
  const std::vector<RankTable::Device>& ranks = ValueOrDie(table).ranks;
  std::map<std::string, bool> is_here;  // By server. A host may have several names.
  int printed = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string& server = ranks[rank].server;
    if (is_here.count(server) == 0) is_here[server] = IsThisHost(server);
    if (!is_here[server]) continue;
    std::printf("%zu\n", rank);
    ++printed;
  }
  if (printed > 0) return 0;
  Die(ExitCode::kEnvironment,
      Format("no server of the rank table `%s` is this host; the first is %s", path.c_str(), ranks[0].server.c_str()));
}

int RunScheduler() {
  const char* const at = std::getenv("CLEAVE_SCHEDULER");
  const std::optional<Address> address = ParseAddress(at == nullptr ? "" : at, /*least_port=*/0);
  if (!address.has_value()) {
    Die(ExitCode::kUsage, Format("CLEAVE_SCHEDULER is `%s`, and must say where to listen, such as `10.0.0.1:%d`",
                                 at == nullptr ? "" : at, kDefaultPort));
  }
  const char* const workers = std::getenv("CLEAVE_WORKERS");
  char* end = nullptr;
  const long ranks = workers == nullptr ? 0 : std::strtol(workers, &end, 10);
  if (ranks < 1 || ranks > kMostWorkers || *end != '\0') {
    Die(ExitCode::kUsage, Format("CLEAVE_WORKERS is `%s`, and must be the number of ranks, from 1 to %d",
                                 workers == nullptr ? "" : workers, kMostWorkers));
  }
  Result<double> timeout = JoinTimeout();
  Result<std::unique_ptr<Meeting>> meeting =
      Meeting::Listen(*address, {static_cast<int>(ranks), ValueOrDie(timeout), /*gives_ranks=*/true, {}});
  std::printf("%s\n", ToString(ValueOrDie(meeting)->address()).c_str());
  std::fflush(stdout);
  const MeetingEnd outcome = meeting.value()->Run();
  if (!outcome.message.empty()) std::fprintf(stderr, "error: %s\n", outcome.message.c_str());
  return static_cast<int>(outcome.code);
}

int Main(int argc, char** argv) {
  // Otherwise a shell that stops it would print that.
  signal(SIGTERM, [](int number) { _exit(128 + number); });
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "ranks" && argc == 3) return PrintRanksOfThisHost(argv[2]);
  if (command == "scheduler" && argc == 2) return RunScheduler();
  Die(ExitCode::kUsage, "use `starter ranks TABLE` or `starter scheduler`");
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) { return cleave::runtime::Main(argc, argv); }
