// What the ops that only manual models have share. They are not callable: the frontend reads the arguments of the
// communication primitives in its own way and builds these ops from them. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_COMMUNICATING_H_
#define CLEAVE_IR_GRAPH_OPS_COMMUNICATING_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {

// A communication of tensor x within a group: attributes `group` and `size`. Inference and gradient are left to be set.
OpDefinition GroupOp(std::string summary);

// A rule with every dimension of x whole. Sizes of dimensions that the attributes name are fixed, and a dimension of
// the output whose size differs from x's has its own factor. REQUIRES: at most one input.
Rule WholeRule(Types inputs, const TensorType& output, const Attributes& attributes);

// An error unless attribute `name` is a dimension of input 0, counted from the front.
std::optional<OpError> CheckDimension(Types inputs, const Attributes& attributes, Attribute<int64_t> key);

// An error unless attribute `size` is positive.
std::optional<OpError> CheckGroupSize(const Attributes& attributes);

// An error unless the group's `size` divides the dimension that attribute `name` gives.
std::optional<OpError> CheckDivides(Types inputs, const Attributes& attributes, Attribute<int64_t> key);

// Group and size of `op`, for an op over the same group.
Attributes GroupAttributes(const Op& op);

// A table with the number `of(rank)` for every rank. REQUIRES: the builder's graph is manual.
std::vector<int64_t> RankTable(const GraphBuilder& builder, const std::function<int64_t(int64_t rank)>& of);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_COMMUNICATING_H_
