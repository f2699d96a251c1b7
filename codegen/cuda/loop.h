// Fused loops as kernels of CUDA.
#ifndef CLEAVE_CODEGEN_CUDA_LOOP_H_
#define CLEAVE_CODEGEN_CUDA_LOOP_H_

#include "codegen/source/emission.h"

namespace cleave::codegen {

// Writes the kernel above the program's struct, and its launch, with comment and lines for the watch, to `writer`.
void EmitKernelOfLoop(Emission& emission, const ir::FusedLoop& loop, cpp::Code& code);

// The same for loops that run at the same time.
void EmitBatchOfLoops(Emission& emission, const ir::LoopBatch& batch, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CUDA_LOOP_H_
