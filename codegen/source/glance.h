// Text for glances at values: `print`, `assert_finite` and `--watch`.
#ifndef CLEAVE_CODEGEN_SOURCE_GLANCE_H_
#define CLEAVE_CODEGEN_SOURCE_GLANCE_H_

#include "codegen/cpp/cpp.h"
#include "codegen/source/emission.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// Writes the call that hands a rank's piece of the value to the Observer of runtime/kernels/show.h. `step`: the number
// of the glance's step.
void EmitGlance(Emission& emission, int step, const ir::Glance& glance, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_GLANCE_H_
