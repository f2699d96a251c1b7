// run.sh, which starts a generated program.
#ifndef CLEAVE_CODEGEN_SOURCE_RUN_SCRIPT_H_
#define CLEAVE_CODEGEN_SOURCE_RUN_SCRIPT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace cleave::codegen {

// How run.sh starts the ranks when it is not told otherwise.
struct LaunchDefault {
  std::string way;         // "mpirun", "rank-table", "dynamic" or "local"; empty: what is installed decides.
  std::string rank_table;  // With rank-table: the path of the table.
};

// Starts the program on `ranks[0]` ranks of this machine, or those of a rank table that are on this host. The other
// numbers, the largest first, are of programs in folders ranks_N, of which the largest is started for which there is
// room. `meeting_comm`: Target::meeting_comm.
std::string RunScript(const std::vector<int>& ranks, absl::string_view meeting_comm, const LaunchDefault& launch);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_RUN_SCRIPT_H_
