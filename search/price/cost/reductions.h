// The bucket size of gradient reductions. Each reduction has a latency, which on thousands of devices is as long as
// sending a hundred MiB; but a large bucket waits for many gradients and is not hidden behind the backward pass that
// makes them.
//
// With n all_reduces of equal size, T of backward pass, and L + S / B seconds for all S bytes at once, a step takes
//
//   max(T + S / (n B) + L,      backward-bound: the last all_reduce follows it
//       T / n + S / B + n L)    reduction-bound: they begin when the first bucket is full
//
// seconds in addition to its forward pass. Buckets are larger than kBucketBytes where that is faster. With ZeRO
// gradients are scattered behind the backward pass: then T is 0, and buckets have at most kMostPackedBytes.
#ifndef CLEAVE_SEARCH_PRICE_COST_REDUCTIONS_H_
#define CLEAVE_SEARCH_PRICE_COST_REDUCTIONS_H_

#include <vector>

#include "base/units/units.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// Returns at least ir::kBucketBytes. `program`: with buckets of that size. `stage_times`: StageTimes of it.
Bytes ReductionBytes(const ir::Program& program, const ir::Fusion& fusion, const std::vector<Seconds>& stage_times,
                     const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_REDUCTIONS_H_
