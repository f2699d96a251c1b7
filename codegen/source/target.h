// What distinguishes the programs of one target from those of another. Everything else of their text is the same:
// functions, buffers, places, collectives, calls of the runtime.
#ifndef CLEAVE_CODEGEN_SOURCE_TARGET_H_
#define CLEAVE_CODEGEN_SOURCE_TARGET_H_

#include "codegen/emit/text.h"
#include "ir/fuse/fuse.h"

namespace cleave {

struct Emission;

struct Target {
  // Writes a fused loop, with its comment and its lines for the watch.
  void (*emit_loop)(Emission& emission, const FusedLoop& loop, SourceWriter& writer);
};

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_TARGET_H_
