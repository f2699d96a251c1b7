// The price `time`: the seconds that ops, collectives and redistributions take on a cluster.
//
//   Seconds reduce = CollectiveSeconds(cluster, mesh, CollectiveKind::kAllReduce, {AxisId(0)}, Bytes(1 << 20));
//
// docs/cost.md has the formulas and their sources. Every time is without overlap, which predict.h adds, and in a search
// the gradient weight. Results are equal on all machines: no logarithms, no order of hash tables.
//
// REQUIRES everywhere: VerifyCluster finds no error, and every axis of the mesh crosses a link of the cluster.
#ifndef CLEAVE_SEARCH_PRICE_COST_TIME_H_
#define CLEAVE_SEARCH_PRICE_COST_TIME_H_

#include "absl/types/span.h"
#include "base/units/units.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/program.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "search/model/cluster/cluster.h"
#include "search/model/facts/facts.h"

namespace cleave::search {

// A collective in groups over `axes`. `bytes` are those of the rank's input, for an all-gather those of its output, for
// a neighbor_exchange those that the rank which receives most gets.
Seconds CollectiveSeconds(const Cluster& cluster, const ir::Mesh& mesh, ir::CollectiveKind kind,
                          absl::Span<const ir::AxisId> axes, Bytes bytes);

// The cluster with the memory bandwidth of the smallest cache that holds `touched` bytes, those of a step.
Cluster SeenByStep(const Cluster& cluster, Bytes touched);

// The time until the samples of an input with so many (local) bytes have been read.
Seconds InputSeconds(const Cluster& cluster, Bytes bytes);

// The arithmetic of an op on (local) tensors, without memory traffic.
Seconds ArithmeticSeconds(const Cluster& cluster, const ir::OpDefinition& definition,
                          absl::Span<const ir::TensorType> inputs, const ir::TensorType& output,
                          const ir::Attributes& attributes);

// The time of one kernel: the longest of its arithmetic, of reading and writing `touched` bytes, and of the least time
// of a kernel, of which one of several `parts` of a kernel has its share.
Seconds KernelSeconds(const Cluster& cluster, Seconds arithmetic, Bytes touched, int parts = 1);

// An op on (local) tensors as a kernel by itself. Sources take no time.
Seconds OpSeconds(const Cluster& cluster, const ir::OpDefinition& definition, absl::Span<const ir::TensorType> inputs,
                  const ir::TensorType& output, const ir::Attributes& attributes);

// One move of a tensor of `type` in layout `source`; a slice is free. With `together` equal tensors that are sent
// together in messages of up to ir::kMostPackedBytes: one tensor's share of the time.
Seconds MoveSeconds(const Cluster& cluster, const ir::Mesh& mesh, const ir::TensorType& type, const ir::Layout& source,
                    const ir::Move& move, int64_t together = 1);

// All moves, one after another. A redistribution of one move shares messages with tensors of any shape, because most
// tensors make that move; others only with those of its shape, which are sure to move between the same ranks.
Seconds RedistributionSeconds(const Cluster& cluster, const ir::Mesh& mesh, const ir::TensorType& type,
                              const ir::Layout& source, const ir::Redistribution& redistribution,
                              const SentTogether& together = {});

// How much longer compute takes while `communication` runs beside it.
Seconds OverlapLoss(const Cluster& cluster, Seconds communication);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_TIME_H_
