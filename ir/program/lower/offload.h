// Which of the values that a plan lets wait in the host's memory would wait in the device's memory otherwise. Private
// to ir/program/lower.
#ifndef CLEAVE_IR_PROGRAM_LOWER_OFFLOAD_H_
#define CLEAVE_IR_PROGRAM_LOWER_OFFLOAD_H_

#include "absl/status/status.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// Leaves kOffload (ir/sharding/plan) only where it saves memory: values inside of a fused piece, parameters under
// another shape, and what all micro-batches have in common are kept, and a reshape is made again from what it reshapes
// where that comes back. An Internal error where Partition finds one.
absl::Status DropIdleOffloads(const FuseOptions& fuse, const CollectivePrice& price, Distributed& distributed);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_LOWER_OFFLOAD_H_
