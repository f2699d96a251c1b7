// The zigzag order of the rows of a sequence, for ops that know the places of rows.
//
// 2 * pairs chunks of equal size lie in pairs: chunk 0 and the last one, chunk 1 and the last but one, and so on.
// Behind a causal mask each pair of chunks of queries sees as many keys as any other one. (A chunk of row i sees i + 1
// keys; those of a pair add up to the same number.) So attention whose queries are cut between pairs is equal work for
// all ranks, where pieces in their own order would leave the last of p ranks (2 p - 1) / p of its share.
#ifndef CLEAVE_IR_GRAPH_OPS_ZIGZAG_H_
#define CLEAVE_IR_GRAPH_OPS_ZIGZAG_H_

#include <cstdint>

#include "absl/types/span.h"
#include "ir/graph/attributes/attributes.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/graph/ops/ops.h"

namespace cleave::ir {

// The attribute `zigzag` of an op that a model calls, which no model sets; and its number, 0 where it is not set.
Argument ZigzagArgument();
int64_t PairsOf(const Attributes& attributes);

// The order of `rows` rows. With 0 pairs they lie in their own order.
struct ZigzagOrder {
  int64_t pairs = 0;
  int64_t rows = 0;

  // The number of the row that lies at `at`. REQUIRES: 2 * pairs divides `rows`.
  int64_t PlaceOf(int64_t at) const;
};

// An error unless the attribute `zigzag` is a number of pairs of chunks of which `rows` rows can be made.
std::optional<OpError> CheckZigzag(const Attributes& attributes, int64_t rows);

// Adds the factors of `rows` rows: one with this name, or where they lie in zigzag order those of pairs, of the two
// chunks of each, and of the rows of a chunk, so that a piece of the rows is some whole pairs, or of one pair some
// rows.
FactorList AddRows(Rule& rule, const char* name, int64_t rows, const Attributes& attributes, FactorKind kind);

// Which rows of the whole a rank has, by the ranges of these factors.
Piece RowsOf(const FactorList& factors, absl::Span<const FactorRange> ranges);

// A Zigzag of the runtime, of the rows along this dimension. REQUIRES: the attribute is not 0.
Field ZigzagField(const CallSite& site, const LocalDimension& rows);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_ZIGZAG_H_
