// Pieces of C++ text: identifiers, literals, comments and laid-out lines.
#ifndef CLEAVE_CODEGEN_EMIT_EMIT_H_
#define CLEAVE_CODEGEN_EMIT_EMIT_H_

#include "codegen/emit/identifiers.h"  // IWYU pragma: export
#include "codegen/emit/text.h"         // IWYU pragma: export

#endif  // CLEAVE_CODEGEN_EMIT_EMIT_H_
