// Where the values of a fused program lie: which share a buffer, and the offsets of the buffers in one arena, or in one
// block of the host's memory.
//
// A value has a root, the value whose buffer it uses. Most values are their own root. Other values share the buffer of
// another value:
//   reshape, view  in the input
//   part           in the tensor of which it is a part (parts.h)
//   all-reduce     in the input, when nothing else reads that afterwards; the inputs of a merged one form a bucket, in
//                  which they lie one after another; the same holds for a broadcast
//   state update   in the state, when nobody reads the old state afterwards: optimizers then update in place, and what
//                  generation remembers grows in place
//   fused loop     in an input that is read there for the last time, element by element; so do calls that may
//                  (OpDefinition::overwrites), and products that are added to it. Loops of a batch run at the same
//                  time, so only the input's own loop may overwrite it
// What is copied out keeps its memory while it may be under way (host_copies.h), and nothing else is written there.
// What one micro-batch leaves for the next, sums over them and what was made before them, keeps its memory through all.
// In a stage of a pipeline several micro-batches are under way, so what a pass reads of an earlier pass has a piece for
// each of them.
// Values inside a stage, step scalars, and constants that only loops read have no root.
#ifndef CLEAVE_IR_PROGRAM_FUSE_STORAGE_H_
#define CLEAVE_IR_PROGRAM_FUSE_STORAGE_H_

#include <map>
#include <optional>
#include <vector>

#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"
#include "ir/program/schedule/buffers.h"

namespace cleave::ir {

struct Storage {
  IdVector<ValueId, std::optional<ValueId>> root;
  std::vector<ProgramUpdate> copies;  // State updates that are not in place: copied at the end of the step.
  // For each step that is a merged collective: what lies in one piece, by transfer, in order. A step is absent where
  // its transfers are placed separately.
  std::map<int, Bucket> buckets;
  BufferPlan buffers;  // By root. A model's input has the pieces of all micro-batches, one after another.
  // Roots that wait from one pass of a micro-batch for another, with how many pieces they have, one after another:
  // several, one for each micro-batch that is between these passes (MicroBatchesBetween).
  std::map<ValueId, int64_t> waiting;
  BufferPlan host;  // Of the values that lie in the host's memory.
  // The input of planning both: for each stage the roots that it reads and writes, and the roots of the arena with
  // their sizes.
  // Besides the stages of the fusion there is one in which loss and metrics are read and one that makes the copies. The
  // first stage of a micro-batch is said to write, and the last one to read, what the next micro-batch finds.
  std::vector<Stage> stages;
  std::vector<BufferRequest> requests;

  // Where a root lies, in the arena or on the host.
  const BufferPlan::Buffer& BufferOf(ValueId own_root) const {
    const BufferPlan::Buffer* const buffer = buffers.Find(own_root);
    return buffer != nullptr ? *buffer : *host.Find(own_root);
  }
  bool SameBuffer(ValueId a, ValueId b) const { return root[a].has_value() && root[a] == root[b]; }

  // How many pieces the buffer of a value has, and how many bytes it is from one to the next; 1 and 0 where it does not
  // wait.
  int64_t PiecesOf(ValueId value) const;
  int64_t StrideOf(ValueId value) const;
};

// From one micro-batch's piece of a model's input to the next.
Bytes InputStride(const Program& program, ValueId input);

Storage PlanStorage(const Program& program, const Fusion& fusion);

// The most bytes of the arena that are in use at once (PeakDemand), without a plan of where they lie.
Bytes DemandOf(const Program& program, const Fusion& fusion);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_STORAGE_H_
