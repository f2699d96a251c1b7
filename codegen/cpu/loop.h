// A fused loop: one pass over memory for a chain of elementwise ops.
#ifndef CLEAVE_CODEGEN_CPU_LOOP_H_
#define CLEAVE_CODEGEN_CPU_LOOP_H_

#include "codegen/source/emission.h"

namespace cleave::codegen {

// Writes the loop, with its comment and its lines for the watch. Values that only the loop uses become local constants,
// or part of the expression that uses them.
void EmitLoop(Emission& emission, const ir::FusedLoop& loop, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CPU_LOOP_H_
