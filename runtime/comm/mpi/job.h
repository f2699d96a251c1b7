// Private to runtime/comm/mpi: what a Comm holds, and how its calls are counted, watched and checked.
#ifndef CLEAVE_RUNTIME_COMM_MPI_JOB_H_
#define CLEAVE_RUNTIME_COMM_MPI_JOB_H_

// Only the C interface: the C++ bindings were removed from MPI in 2012 and double the time to compile this.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <string>
#include <vector>

#include "runtime/comm/comm.h"
#include "runtime/device/workspace.h"

namespace cleave::runtime {

inline MPI_Op MpiOp(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return MPI_SUM;
    case Reduction::kMax:
      return MPI_MAX;
    case Reduction::kMin:
      return MPI_MIN;
  }
  return MPI_OP_NULL;
}

struct Comm::Impl {
  Impl(const Mesh& mesh, Watch& watch) : mesh(mesh), watch(watch) {}

  struct GroupState {
    std::vector<int> axes;
    Group group;
    MPI_Comm communicator = MPI_COMM_NULL;  // Null in a group of one rank.
  };

  const Mesh mesh;
  Watch& watch;
  bool uses_mpi = false;
  int rank = 0;
  int local_ranks = 1;
  std::vector<GroupState> groups;     // Indexed by Group::id; the first is the world.
  std::vector<MPI_Request> requests;  // Indexed by Pending::id; finished ones are MPI_REQUEST_NULL.
  Scratch send;  // What is packed, and what arrives.
  Scratch receive;
  bool counting = true;
  std::array<Traffic, kCollectiveKinds> traffic;

  MPI_Comm communicator(const Group& group) const { return groups[static_cast<size_t>(group.id)].communicator; }

  // Ends the job unless `status` is success.
  void Check(int status, CollectiveKind kind) const;

  // `count` as MPI wants it; ends the job when it does not fit.
  int Count(int64_t count, CollectiveKind kind) const;
  std::vector<int> Counts(const std::vector<int64_t>& counts, CollectiveKind kind) const;
};

// Lives as long as a collective runs: the watch knows of it, and it is counted.
class Running {
 public:
  // `share` is how much of `bytes` this rank sends, as the number of times (n-1)/n of it.
  Running(Comm::Impl& job, CollectiveKind kind, const Group& group, int64_t bytes, double share)
      : job_(job), kind_(kind), start_(Now()) {
    job_.watch.EnterCollective(CollectiveKindName(kind));
    if (!job_.counting || bytes < 0) return;
    Traffic& traffic = job_.traffic[static_cast<size_t>(kind)];
    ++traffic.count;
    traffic.bytes += bytes;
    traffic.sent_bytes += share * (group.size - 1) / group.size * static_cast<double>(bytes);
  }

  // The second half of a collective that was already counted.
  Running(Comm::Impl& job, CollectiveKind kind) : Running(job, kind, Group{}, -1, 0) {}

  ~Running() {
    job_.watch.LeaveCollective();
    if (job_.counting) job_.traffic[static_cast<size_t>(kind_)].seconds += Now() - start_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Comm::Impl& job_;
  const CollectiveKind kind_;
  const double start_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_MPI_JOB_H_
