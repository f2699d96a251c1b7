// The ranks that live in this process. The implementation is linked, as that of runtime/comm/comm.h.
#ifndef CLEAVE_RUNTIME_COMM_RUN_RANKS_H_
#define CLEAVE_RUNTIME_COMM_RUN_RANKS_H_

#include <functional>

#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

// Runs `rank_main` for every rank that lives in this process: on this thread where a rank is a process, on a thread for
// each rank of the mesh where ranks are threads. A Comm is started in it. Returns the exit code of the lowest rank that
// has one other than 0.
int RunRanks(const Mesh& mesh, const std::function<int()>& rank_main);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_COMM_RUN_RANKS_H_
