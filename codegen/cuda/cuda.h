// Programs for GPUs of NVIDIA: what they have of their own.
#ifndef CLEAVE_CODEGEN_CUDA_CUDA_H_
#define CLEAVE_CODEGEN_CUDA_CUDA_H_

#include "codegen/cuda/makefile.h"  // IWYU pragma: export
#include "codegen/source/target.h"

namespace cleave {

const Target& CudaTarget();

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_CUDA_CUDA_H_
