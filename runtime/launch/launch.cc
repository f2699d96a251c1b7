#include "runtime/launch/launch.h"

#include <omp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/error/progress_line.h"
#include "runtime/error/warning.h"
#include "runtime/launch/cores.h"

namespace cleave::runtime {
namespace {

constexpr double kDefaultTimeout = 300;
constexpr double kLeastTimeout = 60;
constexpr double kTimeoutInSteps = 20;

const char* GivenTimeout() { return std::getenv("CLEAVE_TIMEOUT"); }

double TimeoutSeconds() {
  const char* text = GivenTimeout();
  if (text == nullptr) return kDefaultTimeout;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds > 0)) {
    Die(ExitCode::kUsage, Format("CLEAVE_TIMEOUT is `%s`, and must be a number of seconds above 0", text));
  }
  return seconds;
}

}  // namespace

Result<std::unique_ptr<Comm>> Join(const LaunchPlan& plan, Watch& watch) {
  watch.StartWatchdog(RankFromEnvironment().value_or(0), TimeoutSeconds());
  Result<std::unique_ptr<Comm>> started = Comm::Start(plan.mesh, watch);
  if (!started.ok()) return started.error();
  std::unique_ptr<Comm> comm = std::move(started.value());
  HandleSignals(watch, comm->rank());
  SetPrintsWarnings(comm->rank() == 0);
  std::optional<Error> mistake;
  if (plan.only_rank >= 0 && plan.only_rank != comm->rank()) {
    mistake =
        Error{ExitCode::kInput, Format("this program is written for rank %d of the mesh and was started as rank %d",
                                       plan.only_rank, comm->rank())};
  }
  if (std::optional<Error> error = Agree(*comm, mistake)) {
    Leave(std::move(comm), *error);
    return *error;
  }
  const int share = ThreadsPerRank(*comm);
  if (plan.threads.has_value()) {
    omp_set_num_threads(*plan.threads);
  } else if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    omp_set_num_threads(share);
  }
  if (share > omp_get_max_threads() || comm->GainsByThread()) comm->CommunicateOnThread();
  return comm;
}

void FitTimeout(Watch& watch, double step_seconds) {
  if (GivenTimeout() == nullptr) watch.SetTimeout(std::max(kLeastTimeout, kTimeoutInSteps * step_seconds));
}

std::optional<Error> Agree(Comm& comm, const std::optional<Error>& mine) {
  const std::vector<std::string> all =
      comm.GatherText(mine.has_value() ? Format("%d %s", static_cast<int>(mine->code), mine->message.c_str()) : "");
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    const size_t space = all[rank].find(' ');
    const ExitCode code = static_cast<ExitCode>(std::atoi(all[rank].c_str()));
    const std::string message = all[rank].substr(space + 1);
    const bool same = std::all_of(all.begin(), all.end(), [&](const std::string& text) { return text == all[0]; });
    return Error{code, same ? message : Format("rank %zu: %s", rank, message.c_str())};
  }
  return std::nullopt;
}

std::string FromFirst(Comm& comm, const std::string& text) { return comm.GatherText(comm.rank() == 0 ? text : "")[0]; }

int Leave(std::unique_ptr<Comm> comm, const Error& error) {
  if (comm->rank() == 0) {
    EndProgressLine();
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", error.message.c_str());
  }
  comm.reset();
  // mpirun stops the others when the first rank ends with an error; they end by themselves, with the same code.
  signal(SIGTERM, SIG_IGN);
  return static_cast<int>(error.code);
}

}  // namespace cleave::runtime
