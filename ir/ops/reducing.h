// What reductions over axes share. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_REDUCING_H_
#define CLEAVE_IR_OPS_REDUCING_H_

#include <string>
#include <vector>

#include "ir/ops/elementwise.h"

namespace cleave {

// A definition with signature (x, axes = (), keep_dims = false), inference and flops; axes of none are all. Rule,
// gradient and evaluation are left to be set.
OpDefinition ReducingOp(std::string summary);

// Factor d<n> per dimension of the input: parallel where it is kept, else reduced by `reduction`.
Rule ReducingRule(Types inputs, const Attributes& attributes, Reduction reduction, LinearGroups linear);

// For every element of the local input the index of the element of the output that it is reduced into.
std::vector<int64_t> ReducedIndex(const Evaluation& evaluation);

// The number of elements of the whole input that each element of the output is made from.
double ReducedCount(const Evaluation& evaluation);

// Gradient of a maximum or minimum over axes: where several elements have the extreme value, they share it evenly.
Gradients ExtremeGradients(GraphBuilder& builder, const Op& op, OpId dy);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_REDUCING_H_
