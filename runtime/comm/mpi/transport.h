// Private to runtime/comm/mpi: a Transport by MPI.
#ifndef CLEAVE_RUNTIME_COMM_MPI_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_MPI_TRANSPORT_H_

#include <memory>

#include "runtime/comm/transport.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {

struct MpiThreads {
  bool may_change = false;  // MPI takes calls from several threads, one at a time.
  bool yield = false;       // One that waits for ranks of other hosts gives up its core meanwhile.
};

// REQUIRES: MPI has been initialized. Its Leave finalizes MPI. Until then `watch` sees the others on the board, which
// may be null.
std::unique_ptr<Transport> MakeMpiTransport(std::unique_ptr<Others> board, Watch& watch, const MpiThreads& threads);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_MPI_TRANSPORT_H_
