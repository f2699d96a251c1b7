// Which loops run at the same time, as one kernel (LoopBatch). A step of a model has hundreds of loops that take less
// time than it takes to start a kernel: updates of biases and norms, and the copies of all parameters in 16 bits.
//
//   w.momentum', w'   and   v.momentum', v'       updates of parameters, of any optimizer
//   w.bf16            and   v.bf16                copies of the parameters of a layer
//
// So are calls (CallBatch), where the runtime has a function for a list of them: in the update sums of the squares of
// all gradients, in the forward pass the units of weights that are multiplied in 8 bits. What is said of loops below
// holds for them, too.
//
// Loops of one pass are batched if they are alike: the same ops of the same types, where each value has all elements of
// the loop or is a number, and what is the same number in one of them is so in all. A batch stands where its first loop
// stood, or, if nothing between them reads what it writes, where its last one did. None of its loops reads what another
// one writes, or the state that another one updates. In the update also loops of different layers are batched. In
// other phases it is loops of one layer that read what exists from the beginning of a step: others would make what they
// read be needed for longer. But units of weights, and the loops that divide by them, are those of all layers: what
// they make waits for the backward pass anyway.
//
// What is sent stays where it is. A batch whose results are sent takes no more loops, which would delay that, and no
// batch moves behind a collective.
#ifndef CLEAVE_IR_PROGRAM_FUSE_LOOP_BATCHES_H_
#define CLEAVE_IR_PROGRAM_FUSE_LOOP_BATCHES_H_

#include <set>

#include "ir/program/fuse/fuse.h"
#include "ir/program/program.h"

namespace cleave::ir {

// Joins loops of `fusion`. Linear in steps, but for reads of a batch's results, which are looked for among all of them.
void BatchLoops(const Program& program, LoopBatches batches, Fusion& fusion);

// The values that all loops of a batch read.
std::set<ValueId> ReadByAll(const Program& program, const LoopBatch& batch);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_FUSE_LOOP_BATCHES_H_
