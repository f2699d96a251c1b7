// The members of a program's struct: its place in the mesh, its groups, and where its tensors lie.
#ifndef CLEAVE_CODEGEN_PROGRAM_FIELDS_H_
#define CLEAVE_CODEGEN_PROGRAM_FIELDS_H_

#include "codegen/program/layered_text.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// What `functions` use is declared.
void EmitFields(const Emission& emission, const LayeredText& text, const cpp::Code& functions, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_FIELDS_H_
