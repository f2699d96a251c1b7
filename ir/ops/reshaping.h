// The sharding rule that reshape and flatten share. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_RESHAPING_H_
#define CLEAVE_IR_OPS_RESHAPING_H_

#include "ir/ops/elementwise.h"

namespace cleave {

// The common refinement of two row-major shapes of as many elements: factors that both are made of, major first. [6, 4]
// to [2, 12] is "(f0 f1) f2 -> f0 (f1 f2)" with sizes 2, 3, 4. Where sizes have no common major divisor, such as in [2,
// 3] to [3, 2], the dimensions involved become whole factors of fixed size, up to the next place at which both shapes
// have a boundary.
Rule ReshapingRule(const Shape& input, const Shape& output);

// gradient: the same elements in the shape of the input.
Gradients ReshapingGradients(GraphBuilder& builder, const Op& op, OpId dy);

// evaluate: the same elements in the same order.
void CopyElements(const Evaluation& evaluation);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_RESHAPING_H_
