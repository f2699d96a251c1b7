// Building blocks of sharding rules, and the broadcasting that elementwise rules and their evaluation share.
// Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_RULES_H_
#define CLEAVE_IR_GRAPH_OPS_RULES_H_

#include <string>
#include <vector>

#include "ir/graph/ops/inference.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

using LinearGroups = std::vector<std::vector<int>>;

// Appends a factor and returns its index.
int AddFactor(Rule& rule, std::string name, int64_t size, FactorKind kind = FactorKind::kParallel);

// Factors d0, d1, … of the given kinds, one per dimension of `shape`; returned as the dimensions of a tensor.
std::vector<FactorList> AddDimensions(Rule& rule, const Shape& shape, FactorKind kind = FactorKind::kParallel);

// One factor per dimension of the output; inputs are aligned at the last dimension, and their dimensions of size 1 that
// are broadcast have no factor.
Rule BroadcastRule(Types inputs, const TensorType& output, LinearGroups linear);

// The shape to which both broadcast, numpy's rule; nullopt where they do not.
std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b);

// For every element of `output` (row-major) the index of the element of `input` that it reads under broadcasting.
std::vector<int64_t> BroadcastIndex(const Shape& output, const Shape& input);

// The window through which a factor of `pieces` pieces reads a dimension of `elements` elements: pieces [b, e) have
// exactly the elements floor(b * elements / pieces) up to floor(e * elements / pieces), as in all cuts.
InputWindow PiecesWindow(int input, int dimension, int64_t elements, int64_t pieces);

// For OpDefinition::resize of ops whose attribute `shape` is the shape of their output.
Attributes ResizeShape(const Attributes& attributes, const Rule& resized);

// Sums `gradient`, of the shape of the output, over the dimensions along which a value of `type` was broadcast. Takes a
// copy: types that the builder holds move when ops are added.
OpId SumToType(GraphBuilder& builder, OpId gradient, TensorType type, const std::string& name);

// Repeats `value`, which lacks `axes` of `shape` unless `keep_dims`, along these axes, so that it has the whole
// `shape`.
OpId RepeatAlong(GraphBuilder& builder, OpId value, const Shape& shape, const std::vector<int>& axes,
                 const std::string& name);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_RULES_H_
