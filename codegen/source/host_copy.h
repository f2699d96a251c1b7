// Copies between the memory of a device and that of its host.
#ifndef CLEAVE_CODEGEN_SOURCE_HOST_COPY_H_
#define CLEAVE_CODEGEN_SOURCE_HOST_COPY_H_

#include <string>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// Writes step `step`, a HostCopy, with its comment.
void EmitHostCopy(Emission& emission, int step, SourceWriter& writer);

// The same, except that the program goes on while the copy is under way; `pending` as for EmitStart of a collective.
void EmitStartOfHostCopy(Emission& emission, int step, const std::string& pending, SourceWriter& writer);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_HOST_COPY_H_
