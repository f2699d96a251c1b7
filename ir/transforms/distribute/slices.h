// Losses that are computed in slices (ir/graph/sliced_losses), before inner factors are replaced. Private to
// ir/transforms/distribute.
#ifndef CLEAVE_IR_TRANSFORMS_DISTRIBUTE_SLICES_H_
#define CLEAVE_IR_TRANSFORMS_DISTRIBUTE_SLICES_H_

#include <optional>

#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// The graph and plan in which each cross_entropy with the attribute `parts` above 1 is so many slices, one after
// another, each with its part of the gradients; nullopt where there is none. A dimension of the places is sliced that
// no rank and no micro-batch cuts, into equal parts; where all are cut, or have no divisors, or the loss cannot be
// computed in slices, it stays as it is; so it does in a pipeline.
//
// Ops that the backward pass would compute are of the forward pass then, and inherit from another op of it: so nothing
// computes them again.
std::optional<Distributed> WithSlicedLosses(const Graph& graph, const Plan& plan);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_DISTRIBUTE_SLICES_H_
