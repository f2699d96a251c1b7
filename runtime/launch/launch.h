// Joining and leaving a job: rank count, threads per rank, watchdog, signals, and errors that all ranks agree on.
//
//   Watch watch("mnist_mlp.model");
//   std::unique_ptr<Comm> comm = Join({.mesh = mesh}, watch);      // Exits with code 3 on every rank if the launch is
//   wrong. if (std::optional<Error> error = Agree(*comm, mine)) return Leave(std::move(comm), *error);
//
// Environment: CLEAVE_TIMEOUT, seconds after which a rank that stands still ends the job (300); OMP_NUM_THREADS,
// threads per rank (cores of the host divided by its ranks).
#ifndef CLEAVE_RUNTIME_LAUNCH_LAUNCH_H_
#define CLEAVE_RUNTIME_LAUNCH_LAUNCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/comm/comm.h"
#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

struct LaunchPlan {
  Mesh mesh;
  int only_rank = -1;  // A program written for one rank of the mesh; -1: for all.
};

// Joins the job. When the number of ranks is not the mesh's, prints one message on rank 0 and ends every rank with exit
// code 3, before anything is allocated.
std::unique_ptr<Comm> Join(const LaunchPlan& plan, Watch& watch);

// Every rank says what went wrong for it, if anything; every rank gets the error of the lowest rank that has one (its
// message names that rank unless all have the same). Called by all ranks.
std::optional<Error> Agree(Comm& comm, const std::optional<Error>& mine);

// Prints an agreed error on rank 0, leaves the job and returns the exit code.
int Leave(std::unique_ptr<Comm> comm, const Error& error);

// Threads that one of `local_ranks` ranks on a host should use.
int ThreadsPerRank(int local_ranks);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_LAUNCH_LAUNCH_H_
