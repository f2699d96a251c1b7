// The Makefile and run.sh that travel with a generated program.
#ifndef CLEAVE_CODEGEN_CPU_BUILD_FILES_H_
#define CLEAVE_CODEGEN_CPU_BUILD_FILES_H_

#include <string>
#include <vector>

namespace cleave {

// `folders`: where .cc files lie besides program.cc, relative to the Makefile; those that take longest first.
std::string CpuMakefile(const std::vector<std::string>& folders);

// How run.sh starts the ranks when nothing else is said.
struct LaunchDefault {
  std::string way;         // "mpirun", "rank-table" or "dynamic"; empty: as what is installed allows.
  std::string rank_table;  // With rank-table: the path of the table.
};

// Starts the program on `ranks` ranks of this machine, or those of a rank table that are on this host.
std::string CpuRunScript(int ranks, const LaunchDefault& launch);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_CPU_BUILD_FILES_H_
