// The Makefile and run.sh that travel with a generated program.
#ifndef CLEAVE_CODEGEN_CPU_BUILD_FILES_H_
#define CLEAVE_CODEGEN_CPU_BUILD_FILES_H_

#include <string>
#include <vector>

namespace cleave {

// `folders`: where .cc files lie besides program.cc, relative to the Makefile; those that take longest first.
std::string CpuMakefile(const std::vector<std::string>& folders);

// Starts the program on `ranks` ranks of this machine.
std::string CpuRunScript(int ranks);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_CPU_BUILD_FILES_H_
