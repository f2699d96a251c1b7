// The values that are there before a step begins: parameters, what the optimizer keeps of them, constants.
#ifndef CLEAVE_CODEGEN_PROGRAM_SOURCES_H_
#define CLEAVE_CODEGEN_PROGRAM_SOURCES_H_

#include <vector>

#include "codegen/program/layered_text.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// The statements that give all of them their initial values. `emission` outlives the list.
StatementList InitialValues(Emission& emission);

// The statements that make what is kept from step to step (ir::Compute::is_kept), of the values of parameters.
StatementList KeptCopies(Emission& emission);

// The statements that list each parameter with what the optimizer keeps of it. What generation remembers belongs to
// none.
StatementList ListedParameters(Emission& emission);

// Constants of a function for the numbers that differ from step to step.
void EmitStepScalars(const Emission& emission, const std::vector<const ir::Compute*>& scalars, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_SOURCES_H_
