// What programs for the CPU have that others do not.
#ifndef CLEAVE_CODEGEN_CPU_CPU_H_
#define CLEAVE_CODEGEN_CPU_CPU_H_

#include "codegen/cpu/makefile.h"  // IWYU pragma: export
#include "codegen/source/target.h"

namespace cleave::codegen {

const Target& CpuTarget();

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_CPU_CPU_H_
