// Collectives and slices.
#ifndef CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_
#define CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_

#include <string>

#include "codegen/source/emission.h"

namespace cleave::codegen {

cpp::Expr ReductionOf(ir::Reduction reduction);  // "Reduction::kSum"

// Writes step `step`, a Collective, with its comment.
void EmitCollective(Emission& emission, int step, cpp::Code& code);

// Writes the comment of one during which the program goes on. Returns the call that starts it, whose value is the
// handle to wait for.
cpp::Expr StartOfCollective(Emission& emission, int step, cpp::Code& code);

// Whether step `step` gathers or scatters several tensors in one call, of which it takes a list; the type of that list:
// "std::vector<Gathered<float>>".
bool TakesList(const Emission& emission, int step);
cpp::Expr ListType(const Emission& emission, int step);

// Adds one of these tensors to `list`.
void EmitListed(Emission& emission, int step, size_t transfer, const std::string& list, cpp::Code& code);

// Writes step `step`, a Slice: each rank keeps a box of what it has.
void EmitSlice(Emission& emission, int step, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_
