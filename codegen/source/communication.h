// Collectives and slices.
#ifndef CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_
#define CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_

#include "codegen/source/emission.h"

namespace cleave {

// Writes step `step`, a Collective, with its comment.
void EmitCollective(Emission& emission, int step, SourceWriter& writer);

// Writes step `step`, a Slice: each rank keeps its box of what it has.
void EmitSlice(Emission& emission, int step, SourceWriter& writer);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_
