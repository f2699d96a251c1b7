// What programs for GPUs of NVIDIA have that others do not.
#ifndef CLEAVE_CODEGEN_CUDA_CUDA_H_
#define CLEAVE_CODEGEN_CUDA_CUDA_H_

#include "codegen/cuda/makefile.h"  // IWYU pragma: export
#include "codegen/source/target.h"

namespace cleave::codegen {

const Target& CudaTarget();

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CUDA_CUDA_H_
