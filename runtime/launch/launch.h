// Joining and leaving a job: rank count, threads per rank, watchdog, signals, and errors that all ranks agree on.
//
//   Watch watch("mnist_mlp.model");
//   Result<std::unique_ptr<Comm>> joined = Join({.mesh = mesh}, watch);
//   if (!joined.ok()) return static_cast<int>(joined.error().code);
//   std::unique_ptr<Comm> comm = std::move(joined.value());
//   if (std::optional<Error> error = Agree(*comm, mine)) return Leave(std::move(comm), *error);
//
// Environment: CLEAVE_TIMEOUT, seconds after which a rank that stands still ends the job (FitTimeout); OMP_NUM_THREADS,
// threads per rank (else its share of the cores, cores.h).
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
  int only_rank = -1;                         // A program written for one rank of the mesh; -1: for all.
  std::optional<int> threads = std::nullopt;  // Of this rank; nullopt: what the environment says, or its share.
};

// Joins the job; called on the thread of the rank (RunRanks, runtime/comm). An Error, on every rank and already printed
// on one, when the number of ranks is not the mesh's (code 3) or a rank cannot take part; nothing has been allocated.
// A rank that has fewer threads than cores, or gains even without, communicates on a thread of its own.
Result<std::unique_ptr<Comm>> Join(const LaunchPlan& plan, Watch& watch);

// A rank that stands still ends the job after 300 s, and once it is known that a step takes so long, after the larger
// of 60 s and 20 steps; but after CLEAVE_TIMEOUT where that is set.
void FitTimeout(Watch& watch, double step_seconds);

// Every rank gives its error, if it has one; every rank gets the error of the lowest rank that has one (its message
// names that rank unless all have the same). Called by all ranks.
std::optional<Error> Agree(Comm& comm, const std::optional<Error>& mine);

// What rank 0 says. Called by all ranks.
std::string FromFirst(Comm& comm, const std::string& text);

// Prints an agreed error on rank 0, leaves the job and returns the exit code.
int Leave(std::unique_ptr<Comm> comm, const Error& error);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_LAUNCH_LAUNCH_H_
