// Where the values of a fused program lie: which share a buffer, and the offsets of the buffers in one arena.
//
// A value has a root, the value whose buffer it uses. Most values are their own. Others lie in place:
//   reshape, view     in its input
//   all-reduce        in its input, when nothing else reads that afterwards; inputs of a merged one form a bucket,
//   contiguous;
//                     so does a broadcast
//   state update    in the state, when nobody reads the old state afterwards: optimizers then update in place
//   fused loop      in an input that is read there for the last time, element by element
// Values inside a stage, step scalars, and constants that only loops read have no root.
#ifndef CLEAVE_IR_FUSE_STORAGE_H_
#define CLEAVE_IR_FUSE_STORAGE_H_

#include <map>
#include <optional>
#include <vector>

#include "ir/fuse/fuse.h"
#include "ir/program/program.h"
#include "ir/schedule/buffers.h"

namespace cleave {

struct Storage {
  IdVector<ValueId, std::optional<ValueId>> root;
  std::vector<ProgramUpdate> copies;  // State updates that are not in place: copied at the end of the step.
  // Per step that is a merged collective: what lies contiguous, by transfer, in order. Absent where the transfers stand
  // alone.
  std::map<int, Bucket> buckets;
  BufferPlan buffers;  // By root.
  // What `buffers` was planned for: per stage the roots that it reads and writes, and the roots with their sizes.
  // Beside the stages of the fusion, one in which loss and metrics are asked for and one that makes the copies.
  std::vector<Stage> stages;
  std::vector<BufferRequest> requests;

  bool SameBuffer(ValueId a, ValueId b) const { return root[a].has_value() && root[a] == root[b]; }
};

Storage PlanStorage(const Program& program, const Fusion& fusion);

}  // namespace cleave

#endif  // CLEAVE_IR_FUSE_STORAGE_H_
