// What slice, pad and concat share: dimensions that are shifted. Element o of the output's dimension is element
// o + offset of the input's, where that exists, so a rank reads a window of the input. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_BOXING_H_
#define CLEAVE_IR_GRAPH_OPS_BOXING_H_

#include <vector>

#include "ir/graph/ops/elementwise.h"
#include "ir/graph/ops/kernel_call.h"

namespace cleave::ir {

// Per dimension the window of the input. REQUIRES: all of the same rank.
std::vector<Window> ShiftedWindows(const Shape& input, const Shape& output, const std::vector<int64_t>& offset);

// Factors d0, d1, …, one per dimension of the output. Linear in all inputs together. `windows`: per input and
// dimension.
Rule ShiftedRule(const std::vector<std::vector<Window>>& windows, const Shape& output);

// Copies into the local output what it takes of local input `input`. REQUIRES: the rule is that of ShiftedRule.
void CopyShifted(const Evaluation& evaluation, size_t input, const std::vector<Window>& windows);

// For calls: the place in input 0 of the result's first element, which is element o + offset there; and the place in
// the result of the first element of input `input`, which is put at `place`.
BracedList PlaceInInput(const CallSite& site, const std::vector<int64_t>& offset);
BracedList PlaceInResult(const CallSite& site, int input, const std::vector<int64_t>& place);
// Copies a box of input 0 from that place to the result, or input `input` to that place of the result.
KernelCall CopyBoxCall(BracedList place);
KernelCall PasteBoxCall(int input, BracedList place);
// Fills the result with zeros.
KernelCall ZeroCall(const CallSite& site);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_BOXING_H_
