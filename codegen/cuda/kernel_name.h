// The names of kernels.
#ifndef CLEAVE_CODEGEN_CUDA_KERNEL_NAME_H_
#define CLEAVE_CODEGEN_CUDA_KERNEL_NAME_H_

#include <string>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// "H2Relu" for a step h2.relu, as a profiler shows it. No other kernel and nothing in the runtime has this name, which
// the program could otherwise confuse with it.
std::string KernelName(Emission& emission, int step);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CUDA_KERNEL_NAME_H_
