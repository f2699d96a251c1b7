// Gradients of slices of one value, put together. Private to ir/transforms/differentiate.
//
// The gradient of a slice is zero outside of it. Where a value is read in slices, the sum of such gradients is one
// tensor in which they lie beside each other: with one slice for each of n steps that takes n times less than adding
// them up.
#ifndef CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_SLICES_H_
#define CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_SLICES_H_

#include <string>
#include <vector>

#include "ir/graph/ops/builder.h"

namespace cleave::ir {

// Tensors of which the sum is that of `pads`, ops of kind kPad of one type: those that lie beside each other along one
// dimension are one. Their names are `name`. Takes time linear in their number, but for logarithms and slices of the
// same elements.
std::vector<OpId> PutTogether(GraphBuilder& builder, const std::vector<OpId>& pads, const std::string& name);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DIFFERENTIATE_SLICES_H_
