// The Makefile that travels with a generated program for GPUs.
#ifndef CLEAVE_CODEGEN_CUDA_MAKEFILE_H_
#define CLEAVE_CODEGEN_CUDA_MAKEFILE_H_

#include <string>

#include "codegen/source/makefile.h"

namespace cleave::codegen {

// Sources lie beside program.cu.
std::string CudaMakefile(const ProgramSources& sources);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CUDA_MAKEFILE_H_
