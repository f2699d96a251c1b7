// Joining a job whose ranks were started one by one: by a rank table, a scheduler, torchrun's or Slurm's variables.
#include "runtime/comm/job.h"  // IWYU pragma: associated

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "runtime/comm/comm.h"
#include "runtime/comm/meeting/connect.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/error/progress_line.h"
#include "runtime/placement/placement.h"
#include "runtime/rendezvous/membership.h"

namespace cleave::runtime {
namespace {

// Prints an error if this rank is the one that prints it.
Error Said(const Error& error) {
  if (!error.message.empty()) {
    EndProgressLine();
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", error.message.c_str());
    std::fflush(stderr);
  }
  return error;
}

// Ends this process: the job has lost a rank. What this rank was doing says how far the job had come.
void EndWith(const Error& error, const Watch& watch, int rank) {
  if (error.message.empty() || watch.HasStalled()) _exit(static_cast<int>(error.code));
  Die(error.code, Format("%s; rank %d was in %s", error.message.c_str(), rank, watch.CurrentOp().c_str()));
}

Error StartedAlone(const Mesh& mesh) {
  return RefuseToJoin(
      Format("%s and nothing in the environment says which of them this is: start it with "
             "`./run.sh --launch dynamic` or `./run.sh --launch rank-table FILE`, or set RANK, "
             "WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
             PlanText(mesh).c_str()));
}

Error OtherNumberOfRanks(const Mesh& mesh, const Placement& placement) {
  Error error = {
      ExitCode::kInput,
      Format("%s and %s says %d: start %" PRId64 ", or compile the model with `--devices %d`", PlanText(mesh).c_str(),
             placement.source.c_str(), *placement.ranks, MeshSize(mesh), *placement.ranks)};
  return placement.rank == 0 ? RefuseToJoin(std::move(error.message)) : Error{ExitCode::kInput, ""};
}

}  // namespace

std::optional<int> RankFromEnvironment() {
  const Result<std::optional<Placement>> found = FindPlacement();
  if (!found.ok() || !found.value().has_value()) return std::nullopt;
  // A rank that gets its number from the scheduler uses its number on its host until then.
  return found.value()->rank.value_or(std::max(0, found.value()->local_rank));
}

int RunRanks(const Mesh&, const std::function<int()>& rank_main) { return rank_main(); }

Result<std::unique_ptr<Comm>> Comm::Start(const Mesh& mesh, Watch& watch) {
  const Result<std::optional<Placement>> found = FindPlacement();
  if (!found.ok()) return Said(found.error());
  auto job = std::make_unique<Impl>(mesh, watch);
  if (!found.value().has_value()) {
    if (MeshSize(mesh) != 1) return StartedAlone(mesh);
    return OfJob(std::move(job));
  }
  const Placement& placement = *found.value();
  if (placement.ranks.has_value() && *placement.ranks != MeshSize(mesh)) return OtherNumberOfRanks(mesh, placement);
  const Result<double> timeout = JoinTimeout();
  if (!timeout.ok()) return Said(timeout.error());
  const Result<std::string> secret = JobSecret();
  if (!secret.ok()) return Said(secret.error());

  watch.EnterCollective("the start of the job");
  Result<std::unique_ptr<Membership>> membership =
      Membership::Join(placement, {static_cast<int>(MeshSize(mesh)), timeout.value(), secret.value()});
  if (!membership.ok()) return Said(membership.error());
  const int rank = membership.value()->rank();
  job->rank = rank;
  job->local_ranks = membership.value()->local_ranks();
  Result<std::unique_ptr<Transport>> transport =
      ConnectMembers(std::move(membership.value()), timeout.value(), watch,
                     [&watch, rank](const Error& error) { EndWith(error, watch, rank); });
  if (!transport.ok())
    return Said({transport.error().code, Format("rank %d: %s", rank, transport.error().message.c_str())});
  job->transport = std::move(transport.value());
  Result<std::unique_ptr<Comm>> comm = OfJob(std::move(job));  // Connects all ranks.
  watch.LeaveCollective();
  return comm;
}

}  // namespace cleave::runtime
