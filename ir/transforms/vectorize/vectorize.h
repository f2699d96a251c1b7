// The ops of one expansion of a function, made for many elements at once: `vmap`.
//
//   Vectorized result = Vectorize(builder, builder.RemoveFrom(first), {{.element = x_element, .whole = x}}, 8);
//
// A function is expanded once, on tensors that stand for one element each. Vectorize adds what these ops compute for
// all `size` elements: an op that depends on an element gets its batched form, whose values have the elements'
// dimension first (OpDefinition::batch); one that depends on none stays as it is, and so is shared by all.
#ifndef CLEAVE_IR_TRANSFORMS_VECTORIZE_VECTORIZE_H_
#define CLEAVE_IR_TRANSFORMS_VECTORIZE_VECTORIZE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {

// `element`, a source among the ops, stands for one element of `whole` along its dimension 0.
struct MappedInput {
  OpId element;
  OpId whole;
};

// The ops that replace one op.
struct BatchedOp {
  OpId value;  // Has the elements' dimension first if `mapped`.
  bool mapped = false;
  std::vector<OpId> made;  // All ops that replaced it, in program order.
  std::vector<OpId> main;  // That of the op's own kind on the op's own inputs; empty where it was composed of others.
};

using Vectorized = std::map<OpId, BatchedOp>;

// REQUIRES: `ops` are the last ops that were removed from `builder`, in program order; each `element` is a source among
// them with the type of `whole` less its first dimension, which has `size` elements.
Vectorized Vectorize(GraphBuilder& builder, absl::Span<const Op> ops, absl::Span<const MappedInput> inputs,
                     int64_t size);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_VECTORIZE_VECTORIZE_H_
