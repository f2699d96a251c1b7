// The Makefile that travels with a generated program for GPUs.
#ifndef CLEAVE_CODEGEN_CUDA_MAKEFILE_H_
#define CLEAVE_CODEGEN_CUDA_MAKEFILE_H_

#include <string>
#include <vector>

namespace cleave {

// `folders`: where .cc and .cu files lie besides program.cu, relative to the Makefile; those that take longest first.
std::string CudaMakefile(const std::vector<std::string>& folders);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_CUDA_MAKEFILE_H_
