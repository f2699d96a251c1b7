// Programs for the CPU: the text of program.cc, and the files that build and start it.
#ifndef CLEAVE_CODEGEN_CPU_CPU_H_
#define CLEAVE_CODEGEN_CPU_CPU_H_

#include "codegen/cpu/build_files.h"   // IWYU pragma: export
#include "codegen/cpu/program_text.h"  // IWYU pragma: export

#endif  // CLEAVE_CODEGEN_CPU_CPU_H_
