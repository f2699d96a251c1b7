// Passes over a partitioned program that keep its meaning. Each returns whether it changed anything.
#ifndef CLEAVE_IR_PARTITION_MERGE_H_
#define CLEAVE_IR_PARTITION_MERGE_H_

#include "ir/program/program.h"

namespace cleave {

// Puts all-reduces of the backward and update phases that have one group, reduction and dtype into one, where there is a place after
// the last of their producers and before the first of their readers: gradients travel together. The merged collective stands right
// after the last producer, so that it can run while the rest of the backward pass computes.
bool MergeAllReduces(Program& program);

// Removes collectives and slices whose results nobody reads.
bool RemoveUnreadMoves(Program& program);

}  // namespace cleave

#endif  // CLEAVE_IR_PARTITION_MERGE_H_
