#include "codegen/cpu/cpu.h"

#include "codegen/cpu/loop.h"

namespace cleave::codegen {

const Target& CpuTarget() {
  static constexpr Target kTarget = {.name = "the CPU", .source_file = "program.cc", .emit_loop = EmitLoop};
  return kTarget;
}

}  // namespace cleave::codegen
