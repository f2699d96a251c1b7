// The text for values that lie in parts of others (ir/program/fuse/parts.h).
#ifndef CLEAVE_CODEGEN_SOURCE_PARTS_H_
#define CLEAVE_CODEGEN_SOURCE_PARTS_H_

#include "codegen/source/emission.h"

namespace cleave::codegen {

// The part of another value in which the value lies, or null.
const ir::Part* PartOf(const Emission& emission, ir::ValueId value);

// Where the value begins: "layer.qkv_bias_add", "layer.qkv_bias_add + 64".
cpp::Expr PlaceOf(Emission& emission, ir::ValueId value);

// The elements from one to the next along dimensions [begin, end) of a part, which lie as one dimension does; 0 where
// there are none.
SizeProduct StrideOf(Emission& emission, ir::ValueId value, const ir::Part& part, int begin, int end);

// Writes a step that does nothing (ir::LiesInPlace): a comment, and for a concatenation, whose parts other steps have
// written, the line for the watch.
void EmitNothing(Emission& emission, int step, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_PARTS_H_
