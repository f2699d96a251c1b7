// The source file of a generated program, put together of its statements (codegen/source).
#ifndef CLEAVE_CODEGEN_PROGRAM_PROGRAM_H_
#define CLEAVE_CODEGEN_PROGRAM_PROGRAM_H_

#include "codegen/program/program_text.h"  // IWYU pragma: export

#endif  // CLEAVE_CODEGEN_PROGRAM_PROGRAM_H_
