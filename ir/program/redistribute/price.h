// What one move costs: weighted bytes sent per rank (redistribute.h has the table).
#ifndef CLEAVE_IR_PROGRAM_REDISTRIBUTE_PRICE_H_
#define CLEAVE_IR_PROGRAM_REDISTRIBUTE_PRICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {

// The axes of one weight in a group.
struct LinkClass {
  double weight = 1;
  int64_t ranks = 1;  // Product of their sizes.
};

// Ascending by weight.
std::vector<LinkClass> LinkClassesOf(const Mesh& mesh, absl::Span<const AxisId> axes);

// `input_bytes` and `output_bytes` of the largest rank; of a neighbor_exchange, `input_bytes` is what the rank that
// receives most gets. `links` ascend by weight.
double MovePrice(std::optional<CollectiveKind> collective, absl::Span<const LinkClass> links, double input_bytes,
                 double output_bytes);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_REDISTRIBUTE_PRICE_H_
