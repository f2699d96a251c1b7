// Changing a tensor's layout: a shortest path over layouts.
//
// Moves, with S the rank's input (output for all-gather) in bytes, n the ranks of the group, w the link weight:
//   slice           a replicated axis cuts a dimension                   free
//   all_gather      the innermost axes of a dimension become replicated  (n-1)/n * S * w
//   all_to_all      the innermost axes of a dimension cut another        (n-1)/n * S * w
//   reduce_scatter  partial axes cut a dimension                         (n-1)/n * S * w
//   all_reduce      partial axes become replicated                       2(n-1)/n * S * w
//   permute         axes change places, the cut counts stay              S * w
// Axes of one weight move together as one group, n the product of their sizes. A move over axes of different weights is priced
// hierarchically: the cheapest link first on the whole, each dearer one on what is left (S divided by the sizes done; an
// all_to_all leaves everything). The path is found by Dijkstra over the layouts reachable with the axes that source and target
// use; ties: fewer collectives, then fewer moves, then the smaller layout. Where more than four
// axes move, those that move alike are moved together; where even that leaves more than four, only moves that lead towards the target are tried.
#ifndef CLEAVE_IR_REDISTRIBUTE_REDISTRIBUTE_H_
#define CLEAVE_IR_REDISTRIBUTE_REDISTRIBUTE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/layout/layout.h"
#include "ir/mesh/mesh.h"
#include "ir/program/program.h"
#include "ir/types/types.h"

namespace cleave {

struct Move {
  // nullopt: a slice.
  std::optional<CollectiveKind> collective;
  std::vector<AxisId> axes;
  Reduction reduction = Reduction::kSum;
  int from_dimension = -1;
  int to_dimension = -1;
  Layout result;               // After the move.

  bool operator==(const Move&) const = default;
};

struct Redistribution {
  std::vector<Move> moves;     // Empty when source and target are equal.
  double cost = 0;             // Weighted bytes sent per rank.
  int collectives = 0;

  bool operator==(const Redistribution&) const = default;
};

// The cheapest way from `source` to `target`. An error when the target is partial over an axis over which the source is not (or with
// another reduction): a partial tensor cannot be made.
absl::StatusOr<Redistribution> PlanRedistribution(const Mesh& mesh, const TensorType& type, const Layout& source,
                                                  const Layout& target);

// The weighted bytes of one move from `source`.
double MoveCost(const Mesh& mesh, const TensorType& type, const Layout& source, const Move& move);

}  // namespace cleave

#endif  // CLEAVE_IR_REDISTRIBUTE_REDISTRIBUTE_H_
