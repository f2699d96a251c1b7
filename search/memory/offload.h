// Which of the values that a plan lets wait in the host's memory would wait in the device's memory otherwise. Private
// to search/memory.
#ifndef CLEAVE_SEARCH_MEMORY_OFFLOAD_H_
#define CLEAVE_SEARCH_MEMORY_OFFLOAD_H_

#include "absl/status/status.h"
#include "ir/program/fuse/fuse.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::search {

// Leaves kOffload (ir/sharding/plan) only where it saves memory: values inside of a fused piece, parameters under
// another shape, and what all micro-batches have in common are kept, and a reshape is made again from what it reshapes
// where that comes back. An Internal error where Partition finds one.
absl::Status DropIdleOffloads(const ir::FuseOptions& fuse, ir::Distributed& distributed);

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MEMORY_OFFLOAD_H_
