// Rows of sequences in zigzag order (ir/graph/ops/zigzag.h), from where they are first computed to the loss.
//
//   token = input i32[b, s]                     token = input i32[b, s],  token.zigzag = zigzag(token)
//   x = embedding(token, table)           ->    x = embedding(token.zigzag, table)
//   q = rope(matmul(x, wq)), k = …              q = rope(matmul(x, wq), zigzag), k = …
//   y = attention(q, k, v, causal)              k.in_order = zigzag(k, inverse), v.in_order = …
//                                               y = attention(q, k.in_order, v.in_order, causal, zigzag)
//
// Ranks that cut the queries of causal attention into pieces then have equal work. Keys and values are read as a whole
// there, so they are gathered in any order; all other ops of a layer compute each row by itself.
#ifndef CLEAVE_IR_TRANSFORMS_ZIGZAG_ZIGZAG_H_
#define CLEAVE_IR_TRANSFORMS_ZIGZAG_ZIGZAG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/sharding/pins/pins.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

// Whether the op is causal attention whose queries can lie in zigzag order and, in their own order, see keys of very
// different numbers: it has no window, drops no weights and has no bias by distance.
bool GainsByZigzag(const Op& op);

// The most pieces into which the plan cuts the queries of attention that gains; 1 where there is none.
int64_t RowPieces(const Graph& graph, const Plan& plan);

// Why the rows of no causal attention can lie in that many pairs: a clause. nullopt: some can.
std::optional<std::string> WhyNoZigzag(const Graph& forward, int64_t pairs);

// The same computation with the queries of all causal attention whose rows can be in `pairs` pairs in zigzag order, and
// with them all dimensions that run along the same rows. Where an op needs the order of a sequence, and for inputs and
// parameters, an op `zigzag` is put between. Pins stay with their ops; such an op is of the region and the stage of its
// first reader. REQUIRES: `forward` has no backward ops and is not manual; WhyNoZigzag is nullopt. Linear in ops.
Graph WithZigzag(const Graph& forward, int64_t pairs, Pins& pins);

// The graph with all rows in their own order: ops `zigzag` are `identity`, and no op has the attribute. Of a graph that
// WithZigzag made, or of what differentiates it, this is the model's own.
Graph InOwnOrder(Graph graph);

// What distinguishes `changed`, of which WithZigzag says that it computes the same as `model`, from it besides ops and
// attributes `zigzag`: a sentence. Empty where nothing does.
std::string FindOtherChange(const Graph& model, const Graph& changed);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_ZIGZAG_ZIGZAG_H_
