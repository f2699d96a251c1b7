// The Makefile that travels with a generated program for the CPU.
#ifndef CLEAVE_CODEGEN_CPU_MAKEFILE_H_
#define CLEAVE_CODEGEN_CPU_MAKEFILE_H_

#include <string>

#include "codegen/source/makefile.h"

namespace cleave::codegen {

// Sources lie beside program.cc.
std::string CpuMakefile(const ProgramSources& sources);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CPU_MAKEFILE_H_
