// Joining the job that mpirun has started.
#define OMPI_SKIP_MPICXX 1  // As in transport.cc.
#define MPICH_SKIP_MPICXX 1
#include "runtime/comm/job.h"

#include <errno.h>
#include <mpi.h>
#include <signal.h>

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/comm/comm.h"
#include "runtime/comm/mpi/host_board.h"
#include "runtime/comm/mpi/transport.h"
#include "runtime/comm/run_ranks.h"

namespace cleave::runtime {
namespace {

// What is wrong with a job of so many ranks, and what to do.
Error OtherNumberOfRanks(const Mesh& mesh, int started) {
  return RefuseToJoin(Format("%s and mpirun started %d: start it with `mpirun -n %" PRId64
                             " %s`, or compile the model with `--devices %d`",
                             PlanText(mesh).c_str(), started, MeshSize(mesh), program_invocation_name, started));
}

Error StartedWithoutMpirun(const Mesh& mesh) {
  return RefuseToJoin(Format("%s and the program was started without mpirun: start it with `mpirun -n %" PRId64 " %s`",
                             PlanText(mesh).c_str(), MeshSize(mesh), program_invocation_name));
}

// Whether ranks wait for those of other hosts and give up their core meanwhile, so that a thread that communicates
// needs none of its own. Open MPI looks there when it starts, and says there where its ranks are.
bool YieldsToOthers() {
  constexpr char kYields[] = "OMPI_MCA_mpi_yield_when_idle";
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* const on_this_host = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (ranks == nullptr || on_this_host == nullptr || std::strcmp(ranks, on_this_host) == 0) return false;
  setenv(kYields, "1", /*overwrite=*/0);
  return std::strcmp(std::getenv(kYields), "1") == 0;
}

}  // namespace

std::optional<int> RankFromEnvironment() {
  // Open MPI, PMIx (Slurm), PMI (MPICH and its relatives), MVAPICH.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return std::nullopt;
}

int RunRanks(const Mesh&, const std::function<int()>& rank_main) { return rank_main(); }

Result<std::unique_ptr<Comm>> Comm::Start(const Mesh& mesh, Watch& watch) {
  auto job = std::make_unique<Impl>(mesh, watch);
  if (!RankFromEnvironment().has_value()) {
    if (MeshSize(mesh) != 1) return StartedWithoutMpirun(mesh);
    return OfJob(std::move(job));
  }
  int started = 1;
  int provided = 0;
  watch.EnterCollective("the start of the job");
  const bool yields = YieldsToOthers();
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &started);
  watch.LeaveCollective();
  if (started != MeshSize(mesh)) {
    // The message is printed before any rank can end, because mpirun then stops the others.
    const Error error = job->rank == 0 ? OtherNumberOfRanks(mesh, started) : Error{ExitCode::kInput, ""};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    // The ranks end by themselves, with the same code.
    signal(SIGTERM, SIG_IGN);
    return error;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &job->local_ranks);
  job->transport = MakeMpiTransport(HostBoard::Create(host), watch,
                                    {.may_change = provided >= MPI_THREAD_SERIALIZED, .yield = yields});
  MPI_Comm_free(&host);
  return OfJob(std::move(job));
}

}  // namespace cleave::runtime
