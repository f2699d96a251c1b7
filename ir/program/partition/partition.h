// From (training graph, plan) to the program of a rank: local ops, and the collectives and slices that the layouts
// require.
//
// Ops are visited in order. Each reads its inputs in the layouts of its strategy. Where a value does not exist in that
// layout yet, the cheapest redistribution from one that exists is inserted; a layout that was made once is used again.
// Afterwards an all_reduce that is only sliced becomes a reduce_scatter, and collectives over one group are merged
// (ir/program/partition/merge.h says which). Data parallelism, tensor parallelism and sharded optimizers are not
// special cases: their all-reduces, reduce-scatters and all-to-alls follow from the layouts alone. What the graph looks
// at is looked at in the finished program (ir/program/partition/glances.h), which is otherwise the same without the
// looks.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_PARTITION_H_
#define CLEAVE_IR_PROGRAM_PARTITION_PARTITION_H_

#include <optional>

#include "absl/status/statusor.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/program/partition/merge.h"
#include "ir/program/program.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

struct PartitionOptions {
  bool merge_collectives = true;  // False shows one collective per tensor.
  BucketSizes buckets = {};       // Of merged collectives.
  PieceCounts piece_counts = PieceCounts::kAny;
  CollectivePrice price = nullptr;        // By which redistributions are chosen; null: weighted bytes.
  SharedRedistributions* ways = nullptr;  // Of the plan's mesh and `price`, for several programs; null: of this one.
  double layers = 1;                      // Which part of the layers of a larger model the graph has (merge.h).
};

// REQUIRES: VerifyGraph and VerifyPlan find no error. Loss and metrics of the result are replicated.
absl::StatusOr<Program> Partition(const Graph& graph, const Plan& plan, const PartitionOptions& options = {});

// Partition in two parts, for callers that try several numbers of bytes: Partition(graph, plan, options) is
// WithMessages(graph, plan, *WithoutMessages(graph, plan, options), options). The first part takes most of the time,
// and uses `price` and `ways` only, which the second does not.
absl::StatusOr<Program> WithoutMessages(const Graph& graph, const Plan& plan, const PartitionOptions& options);
Program WithMessages(const Graph& graph, const Plan& plan, Program program, const PartitionOptions& options);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_PARTITION_H_
