// Private to runtime/comm/mpi: a Transport by MPI.
#ifndef CLEAVE_RUNTIME_COMM_MPI_TRANSPORT_H_
#define CLEAVE_RUNTIME_COMM_MPI_TRANSPORT_H_

#include <memory>

#include "runtime/comm/transport.h"

namespace cleave::runtime {

// REQUIRES: MPI has been initialized. Its Leave finalizes MPI.
std::unique_ptr<Transport> MakeMpiTransport();

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_MPI_TRANSPORT_H_
