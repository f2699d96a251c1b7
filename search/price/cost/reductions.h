// How many gradients one reduction takes at once. Each has a latency, which on thousands of devices is as long as
// sending a hundred MiB; but what waits for many gradients does not run beside the backward pass that makes them.
//
// With n all_reduces of equal size, T of backward pass, and L + S / B seconds for all S bytes at once, a step takes
//
//   max(T + S / (n B) + L,      the backward pass is longer: the last all_reduce follows it
//       T / n + S / B + n L)    or the all_reduces are: they begin when the first bucket is full
//
// seconds more than its forward pass. Larger buckets are taken where that is less than with those of kBucketBytes. With
// ZeRO gradients are scattered behind the backward pass: then T is 0, and buckets are at most kMostPackedBytes.
#ifndef CLEAVE_SEARCH_PRICE_COST_REDUCTIONS_H_
#define CLEAVE_SEARCH_PRICE_COST_REDUCTIONS_H_

#include <vector>

#include "base/units/units.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"
#include "search/model/cluster/cluster.h"

namespace cleave::search {

// `program`: with buckets of ir::kBucketBytes, which is also the least that is returned. `stage_times`: StageTimes of
// it.
Bytes ReductionBytes(const ir::Program& program, const ir::Fusion& fusion, const std::vector<Seconds>& stage_times,
                     const Cluster& cluster);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_PRICE_COST_REDUCTIONS_H_
