// From a training graph in f32 to one that multiplies in bf16, f16 or fp8.
//
//   Lowered lowered = ApplyPrecision(training_graph, Precision::kBf16);
//   pins = MovePins(std::move(pins), lowered);
//
// Ops `cast` are added where an op reads another type than its input has (policy.cc has the table of these types);
// parameters, optimizer state and updates stay in f32. kF32 and kTf32 leave the graph as it is. kFp8 is kBf16 with
// products of factors of 8 bits in place of most that multiply weights (in_8_bits.h).
#ifndef CLEAVE_IR_TRANSFORMS_PRECISION_PRECISION_H_
#define CLEAVE_IR_TRANSFORMS_PRECISION_PRECISION_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

// Ids with `old` in their names belong to the given graph, the others to the new one. With kFp8, what makes factors of
// 8 bits counts as casts, too.
struct InsertedCast {
  OpId cast;
  OpId old_value;         // What it casts.
  OpId old_first_reader;  // The first op that reads the cast.

  bool operator==(const InsertedCast&) const = default;
};

struct Lowered {
  Graph graph;
  IdVector<OpId, OpId> places;      // The place of each op of the given graph in the new one.
  std::vector<InsertedCast> casts;  // In program order.
};

// The ops keep their order, names, lines and inheritance. A value has at most one cast for forward readers, which
// backward ones share, named `<value>.bf16`, `<value>.f16` or `<value>.f32`; only where backward ops need a forward
// value of 16 bits in f32 do they have a separate cast, so that the smaller value is kept from forward to backward.
// Casts of parameters and inputs stand before their first reader (that of a bias before the product), the others behind
// their value. Backward casts inherit from the forward op that their value belongs to. REQUIRES: `graph` holds neither
// type, and VerifyGraph finds no error in it. kFp8: products by weights that match one of `kept_weights`
// (MatchesPattern) stay in bf16.
Lowered ApplyPrecision(const Graph& graph, Precision precision, absl::Span<const std::string> kept_weights = {});

// The pins, priorities, regions and retentions of the given graph, for the new one. A cast belongs to the region of its
// value; the cast of a parameter belongs to that of its first reader. A forward cast has the retention of its value.
Pins MovePins(Pins pins, const Lowered& lowered);

// The graph in f32: without casts to and from 16 bits. Undoes ApplyPrecision of 16 bits.
Graph InF32(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_PRECISION_PRECISION_H_
