// Which steps of a backward pass a stage of a pipeline leaves for later.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_SPLIT_BACKWARD_H_
#define CLEAVE_IR_PROGRAM_PARTITION_SPLIT_BACKWARD_H_

#include "ir/graph/graph.h"
#include "ir/program/program.h"

namespace cleave::ir {

// Under zero_bubble gradients of weights get a phase of their own in each stage that sends gradients back: products for
// which no other stage waits, what is made of them, and what is made for them alone. Other steps for which no stage
// waits, such as sums of gradients for biases, stay in the backward pass: they take little time, and what they read
// need not wait for them. So do products that read what the backward pass has made again so that it need not wait.
// Nothing changes in a program without micro-batches, in which nothing can be done meanwhile. `graph`: that of the
// program.
void SplitBackward(const Graph& graph, Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_SPLIT_BACKWARD_H_
