// From a training graph in f32 to one that multiplies in bf16, the 16 bits of which 8 are f32's exponent.
//
//   Lowered lowered = ApplyPrecision(training_graph, Precision::kBf16);
//   pins = MovePins(std::move(pins), lowered);
//
// Ops `cast` are put where an op reads another type than its input has (policy.cc is the table of who reads what);
// parameters, optimizer state and updates stay in f32. kF32 and kTf32 leave the graph as it is.
#ifndef CLEAVE_IR_TRANSFORMS_PRECISION_PRECISION_H_
#define CLEAVE_IR_TRANSFORMS_PRECISION_PRECISION_H_

#include <vector>

#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/pins/pins.h"

namespace cleave::ir {

// Ids with `old` in their names are of the graph given, the others of the one made.
struct InsertedCast {
  OpId cast;
  OpId old_value;         // What it casts.
  OpId old_first_reader;  // Of those that read the cast.

  bool operator==(const InsertedCast&) const = default;
};

struct Lowered {
  Graph graph;
  IdVector<OpId, OpId> places;      // Where each op of the graph given now stands.
  std::vector<InsertedCast> casts;  // In program order.
};

// The ops keep their order, names, lines and what they inherit. A value has at most one cast for forward readers, which
// backward ones share, named `<value>.bf16` or `<value>.f32`; only where backward ops want a forward bf16 value in f32
// do they have a cast of their own, so that what is kept from forward to backward is the smaller one. Casts of
// parameters and inputs stand before their first reader (that of a bias before the product), the others behind their
// value. Backward casts inherit from the
// forward op that their value belongs to. REQUIRES: `graph` holds no bf16, and VerifyGraph is content with it.
Lowered ApplyPrecision(const Graph& graph, Precision precision);

// Pins, priorities and regions of the graph given, for the one made. A cast belongs to the region of its value, or, of
// a parameter, to that of its first reader.
Pins MovePins(Pins pins, const Lowered& lowered);

// The graph in f32: without casts to and from bf16. Undoes ApplyPrecision.
Graph InF32(const Graph& graph);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_PRECISION_PRECISION_H_
