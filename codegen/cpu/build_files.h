// The Makefile and run.sh that travel with a generated program.
#ifndef CLEAVE_CODEGEN_CPU_BUILD_FILES_H_
#define CLEAVE_CODEGEN_CPU_BUILD_FILES_H_

#include <string>
#include <vector>

namespace cleave {

// `sources`: the .cc files besides program.cc, relative to the Makefile.
std::string CpuMakefile(const std::vector<std::string>& sources);

// Starts the program on `ranks` ranks of this machine.
std::string CpuRunScript(int ranks);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_CPU_BUILD_FILES_H_
