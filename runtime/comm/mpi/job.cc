// Joining and leaving the job, groups, errors.
#include "runtime/comm/mpi/job.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

#include <cinttypes>
#include <cstdio>
#include <utility>

namespace cleave::runtime {
namespace {

// Prints why the job cannot be joined, on one rank.
Error Refuse(std::string message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::fflush(stderr);
  return {ExitCode::kInput, std::move(message)};
}

std::string MeshText(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh) {
    text += Format("%s%s=%" PRId64, text.empty() ? "" : ", ", axis.name.c_str(), axis.size);
  }
  return text;
}

}  // namespace

void Comm::Impl::Check(int status, CollectiveKind kind) const {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  Die(ExitCode::kFailed,
      Format("rank %d: %s for %s failed: %s", rank, CollectiveKindName(kind), watch.CurrentOp().c_str(), text));
}

int Comm::Impl::Count(int64_t count, CollectiveKind kind) const {
  if (count <= INT_MAX) return static_cast<int>(count);
  Die(ExitCode::kFailed, Format("rank %d: %s for %s has %" PRId64 " elements; MPI counts end at %d", rank,
                                CollectiveKindName(kind), watch.CurrentOp().c_str(), count, INT_MAX));
}

std::vector<int> Comm::Impl::Counts(const std::vector<int64_t>& counts, CollectiveKind kind) const {
  std::vector<int> result;
  for (int64_t count : counts) result.push_back(Count(count, kind));
  return result;
}

Result<std::unique_ptr<Comm>> Comm::Start(const Mesh& mesh, Watch& watch) {
  const int64_t planned = MeshSize(mesh);
  auto job = std::make_unique<Impl>(mesh, watch);
  job->uses_mpi = RankFromEnvironment().has_value();
  if (!job->uses_mpi && planned != 1) {
    return Refuse(Format("the plan has %" PRId64
                         " ranks (%s) and the program was started without mpirun: start it with `mpirun -n %" PRId64
                         " %s`",
                         planned, MeshText(mesh).c_str(), planned, program_invocation_name));
  }
  int started = 1;
  if (job->uses_mpi) {
    int provided = 0;
    watch.EnterCollective("the start of the job");
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &started);
    watch.LeaveCollective();
  }
  if (started != planned) {
    Error error = {ExitCode::kInput, ""};
    if (job->rank == 0) {
      error =
          Refuse(Format("the plan has %" PRId64 " rank%s (%s) and mpirun started %d: start it with `mpirun -n %" PRId64
                        " %s`, or compile the model with `--devices %d`",
                        planned, planned == 1 ? "" : "s", mesh.empty() ? "one device" : MeshText(mesh).c_str(), started,
                        planned, program_invocation_name, started));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    // mpirun stops the others when the first rank ends with an error; they end by themselves, with the same code.
    signal(SIGTERM, SIG_IGN);
    return error;
  }
  if (job->uses_mpi) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &job->local_ranks);
    MPI_Comm_free(&host);
  }
  std::unique_ptr<Comm> comm(new Comm(std::move(job)));
  std::vector<int> all_axes;
  for (size_t i = 0; i < mesh.size(); ++i) all_axes.push_back(static_cast<int>(i));
  comm->CreateGroup(all_axes);
  return comm;
}

Comm::Comm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Comm::~Comm() {
  if (!impl_->uses_mpi) return;
  for (Impl::GroupState& state : impl_->groups) {
    if (state.communicator != MPI_COMM_NULL) MPI_Comm_free(&state.communicator);
  }
  impl_->watch.EnterCollective("the end of the job");
  MPI_Finalize();
  impl_->watch.LeaveCollective();
}

int Comm::rank() const { return impl_->rank; }
const Mesh& Comm::mesh() const { return impl_->mesh; }
int Comm::ranks_on_this_host() const { return impl_->local_ranks; }
const Group& Comm::world() const { return impl_->groups[0].group; }

Group Comm::CreateGroup(const std::vector<int>& axes) {
  for (const Impl::GroupState& state : impl_->groups) {
    if (state.axes == axes) return state.group;
  }
  Impl::GroupState state;
  state.axes = axes;
  state.group.id = static_cast<int>(impl_->groups.size());
  state.group.index = static_cast<int>(IndexOnAxes(impl_->mesh, impl_->rank, axes));
  for (int axis : axes) state.group.size *= static_cast<int>(impl_->mesh[static_cast<size_t>(axis)].size);
  if (state.group.size > 1) {
    // Members of one group agree on the lowest of their ranks, the one with index 0.
    const int color = static_cast<int>(RankAt(impl_->mesh, impl_->rank, axes, 0));
    impl_->Check(MPI_Comm_split(MPI_COMM_WORLD, color, state.group.index, &state.communicator),
                 CollectiveKind::kBarrier);
    impl_->Check(MPI_Comm_set_errhandler(state.communicator, MPI_ERRORS_RETURN), CollectiveKind::kBarrier);
  }
  impl_->groups.push_back(state);
  return state.group;
}

void Comm::CountTraffic(bool on) { impl_->counting = on; }
const std::array<Traffic, kCollectiveKinds>& Comm::traffic() const { return impl_->traffic; }

}  // namespace cleave::runtime
