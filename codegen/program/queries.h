// The functions of a program by which its runtime asks for inputs, parameters and results.
#ifndef CLEAVE_CODEGEN_PROGRAM_QUERIES_H_
#define CLEAVE_CODEGEN_PROGRAM_QUERIES_H_

#include "codegen/source/emission.h"

namespace cleave::codegen {

// `parameters`: the statements that list the parameters.
void EmitQueries(Emission& emission, cpp::Code parameters, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_QUERIES_H_
