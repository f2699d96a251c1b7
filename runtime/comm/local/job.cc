// Joining a job whose ranks are threads of this process.
#include "runtime/comm/job.h"

#include <cinttypes>
#include <thread>
#include <utility>

#include "runtime/comm/local/board.h"
#include "runtime/comm/local/transport.h"
#include "runtime/comm/run_ranks.h"

namespace cleave::runtime {
namespace {

// Those of the calling thread, where RunRanks has started it; otherwise null.
thread_local std::shared_ptr<LocalRanks> the_ranks;
thread_local int the_rank = 0;

}  // namespace

std::optional<int> RankFromEnvironment() { return the_ranks == nullptr ? std::nullopt : std::optional<int>(the_rank); }

int RunRanks(const Mesh& mesh, const std::function<int()>& rank_main) {
  const int ranks = static_cast<int>(MeshSize(mesh));
  if (ranks == 1) return rank_main();
  const auto all = std::make_shared<LocalRanks>(ranks);
  std::vector<int> codes(static_cast<size_t>(ranks), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&all, &codes, &rank_main, rank] {
      the_ranks = all;
      the_rank = rank;
      codes[static_cast<size_t>(rank)] = rank_main();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int code : codes) {
    if (code != 0) return code;
  }
  return 0;
}

Result<std::unique_ptr<Comm>> Comm::Start(const Mesh& mesh, Watch& watch) {
  auto job = std::make_unique<Impl>(mesh, watch);
  const int ranks = the_ranks == nullptr ? 1 : the_ranks->ranks();
  if (ranks != MeshSize(mesh)) {
    Error error = {ExitCode::kInput,
                   Format("%s and %d thread%s started", PlanText(mesh).c_str(), ranks, ranks == 1 ? " was" : "s were")};
    return the_rank == 0 ? RefuseToJoin(std::move(error.message)) : error;
  }
  if (ranks == 1) return OfJob(std::move(job));
  job->rank = the_rank;
  job->local_ranks = ranks;
  job->process_ranks = ranks;
  job->transport = std::make_unique<LocalTransport>(the_ranks);
  return OfJob(std::move(job));
}

}  // namespace cleave::runtime
