// Collectives and slices.
#ifndef CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_
#define CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_

#include <string>

#include "codegen/source/emission.h"

namespace cleave::codegen {

std::string ReductionText(ir::Reduction reduction);  // "Reduction::kSum"

// Writes step `step`, a Collective, with its comment.
void EmitCollective(Emission& emission, int step, SourceWriter& writer);

// The same, except that the program goes on while the collective is under way. Its handle goes to `pending`: "Pending
// sums_pending", a variable that is declared there.
void EmitStart(Emission& emission, int step, const std::string& pending, SourceWriter& writer);

// Whether step `step` gathers or scatters several tensors in one call, of which it takes a list; the type of that list:
// "std::vector<Gathered<float>>".
bool TakesList(const Emission& emission, int step);
std::string ListType(const Emission& emission, int step);

// Adds one of these tensors to `list`.
void EmitListed(Emission& emission, int step, size_t transfer, const std::string& list, SourceWriter& writer);

// Writes step `step`, a Slice: each rank keeps a box of what it has.
void EmitSlice(Emission& emission, int step, SourceWriter& writer);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_COMMUNICATION_H_
