// The price `time`: the seconds that ops, collectives and redistributions take on a cluster.
//
//   Seconds reduce = CollectiveSeconds(cluster, mesh, CollectiveKind::kAllReduce, {AxisId(0)}, Bytes(1 << 20));
//
// docs/cost.md has the formulas and their sources. Every time is that of one thing alone; what runs side by side is the
// matter of predict.h, and in a search of the weight of gradients. Nothing depends on the machine that computes it: no
// logarithms, no tables by hash.
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

// The cluster as a step sees it that touches so many bytes: with the bandwidth of the memory in which they stay.
Cluster SeenByStep(const Cluster& cluster, Bytes touched);

// The time until the samples of an input with so many (local) bytes have been read.
Seconds InputSeconds(const Cluster& cluster, Bytes bytes);

// The arithmetic of an op on (local) tensors alone.
Seconds ArithmeticSeconds(const Cluster& cluster, const ir::OpDefinition& definition,
                          absl::Span<const ir::TensorType> inputs, const ir::TensorType& output,
                          const ir::Attributes& attributes);

// The time of one kernel: of its arithmetic, of moving what it reads and writes, or the least time of a kernel,
// whichever is longest. Of one of several `parts` of a kernel: its share of the least time.
Seconds KernelSeconds(const Cluster& cluster, Seconds arithmetic, Bytes touched, int parts = 1);

// An op on (local) tensors as a kernel of its own. Sources take nothing.
Seconds OpSeconds(const Cluster& cluster, const ir::OpDefinition& definition, absl::Span<const ir::TensorType> inputs,
                  const ir::TensorType& output, const ir::Attributes& attributes);

// One move of a tensor of `type` that lies as `source`. A slice is free. Of `together` equal tensors that are there at
// once: its share of the messages that take as many of them as ir::kMostPackedBytes holds.
Seconds MoveSeconds(const Cluster& cluster, const ir::Mesh& mesh, const ir::TensorType& type, const ir::Layout& source,
                    const ir::Move& move, int64_t together = 1);

// All moves, one after another. Where a single one is enough, it is that of most tensors, and messages take tensors of
// any shape; else only those of its shape are sure to move between the same ranks.
Seconds RedistributionSeconds(const Cluster& cluster, const ir::Mesh& mesh, const ir::TensorType& type,
                              const ir::Layout& source, const ir::Redistribution& redistribution,
                              const SentTogether& together = {});

// What compute loses while so much communication goes on beside it.
Seconds OverlapLoss(const Cluster& cluster, Seconds communication);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_TIME_H_
