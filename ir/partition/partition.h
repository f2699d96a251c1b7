// From (training graph, plan) to the program of a rank: local ops, and the collectives and slices that the layouts ask for.
//
// Ops are visited in order. Each reads its inputs in the layouts of its strategy; where a value does not exist in that layout yet,
// the cheapest redistribution from one that exists is inserted (a layout that was made once is used again). Afterwards:
// gradient all-reduces over the same group are merged; an all_reduce whose only use is a slice is a reduce_scatter.
// All-reduces, reduce-scatters and all-to-alls of tied or repeated uses follow from the layouts alone: data parallel, tensor parallel
// and sharded optimizers are not special cases.
#ifndef CLEAVE_IR_PARTITION_PARTITION_H_
#define CLEAVE_IR_PARTITION_PARTITION_H_

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"

namespace cleave {

struct PartitionOptions {
  bool merge_collectives = true;   // False shows one collective per tensor.
};

// REQUIRES: VerifyGraph and VerifyPlan are content. Loss and metrics come out replicated.
absl::StatusOr<Program> Partition(const Graph& graph, const Plan& plan, const PartitionOptions& options = {});

}  // namespace cleave

#endif  // CLEAVE_IR_PARTITION_PARTITION_H_
