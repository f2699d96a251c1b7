// Ops that are a call of the runtime.
#ifndef CLEAVE_CODEGEN_SOURCE_KERNELS_H_
#define CLEAVE_CODEGEN_SOURCE_KERNELS_H_

#include "absl/strings/string_view.h"
#include "codegen/source/emission.h"

namespace cleave {

// Whether ops of this kind are emitted as calls.
bool HasKernel(OpKind kind);

// Writes the step with its comment. REQUIRES: a Compute with HasKernel(kind).
void EmitKernel(Emission& emission, int step, SourceWriter& writer);

// Writes a matrix product that takes its bias, and perhaps relu, along.
void EmitMatMulChain(Emission& emission, const MatMulChain& chain, SourceWriter& writer);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_KERNELS_H_
