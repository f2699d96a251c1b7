// The Makefile that travels with a generated program for the CPU.
#ifndef CLEAVE_CODEGEN_CPU_MAKEFILE_H_
#define CLEAVE_CODEGEN_CPU_MAKEFILE_H_

#include <string>
#include <vector>

namespace cleave {

// `folders`: where .cc files lie besides program.cc, relative to the Makefile; those that take longest first.
std::string CpuMakefile(const std::vector<std::string>& folders);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_CPU_MAKEFILE_H_
