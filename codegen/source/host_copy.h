// Copies between the memory of a device and that of its host.
#ifndef CLEAVE_CODEGEN_SOURCE_HOST_COPY_H_
#define CLEAVE_CODEGEN_SOURCE_HOST_COPY_H_

#include "codegen/source/emission.h"

namespace cleave::codegen {

// Writes step `step`, a HostCopy, with its comment.
void EmitHostCopy(Emission& emission, int step, cpp::Code& code);

// Writes the comment of one during which the program goes on. Returns the call that starts it, whose value is the
// handle to wait for.
cpp::Expr StartOfHostCopy(Emission& emission, int step, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_HOST_COPY_H_
