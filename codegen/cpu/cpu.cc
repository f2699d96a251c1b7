#include "codegen/cpu/cpu.h"

#include "codegen/cpu/loop.h"

namespace cleave {

const Target& CpuTarget() {
  static constexpr Target kTarget = {.emit_loop = EmitLoop};
  return kTarget;
}

}  // namespace cleave
