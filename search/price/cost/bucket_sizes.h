// How many bytes collectives of several tensors take at once. Each has a latency, which on thousands of devices is as
// long as sending a hundred MiB; but a large bucket of gradients waits for many of them, and is not hidden behind the
// backward pass that makes them. In the same way the first gather of parameters stands before the pass that reads them.
//
// With n collectives of equal size, T of the pass beside which they run, and L + S / B seconds for all S bytes at once,
// a step takes
//
//   max(T + S / (n B) + L,      bound by the pass: the last reduction follows it, the first gather precedes it
//       T / n + S / B + n L)    bound by the collectives: they begin when the first bucket is full, or end before the
//                               last part of the pass
//
// seconds in addition to the rest. Buckets are larger than kBucketBytes where that is faster. What is scattered for the
// update runs beside the update of what was scattered before. Whole gradients that wait for a scatter of the backward
// pass, and whole parameters that are gathered for a pass, have at most kMostPackedBytes at a time.
#ifndef CLEAVE_SEARCH_PRICE_COST_BUCKET_SIZES_H_
#define CLEAVE_SEARCH_PRICE_COST_BUCKET_SIZES_H_

#include <vector>

#include "base/units/units.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/partition/merge.h"
#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// Other sizes than ir::kBucketBytes that may be faster: those of the formula, and the same with reductions of
// ir::kMostPackedBytes, as the formula knows nothing of how reductions and gathers follow each other. `program`: with
// buckets of ir::kBucketBytes. `stage_times`: StageTimes of it.
std::vector<ir::BucketSizes> SizesOfBuckets(const ir::Program& program, const ir::Fusion& fusion,
                                            const std::vector<Seconds>& stage_times, const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_BUCKET_SIZES_H_
