// Moves the steps of a program to where they take less memory.
//
//   MemoryPlan memory = PlanMemory(graph, program, fuse);
//   OrderForMemory(graph, program, memory);   // Now the program's peak is lower, or both are as they were.
//
// A partition puts steps in the order of the training graph. In another one a buffer may be needed for less long: the
// gradient of a weight frees the activations that it reads, if it comes in front of the gradient of these activations,
// and a branch is finished before the next one begins.
#ifndef CLEAVE_IR_PROGRAM_ORDER_ORDER_H_
#define CLEAVE_IR_PROGRAM_ORDER_ORDER_H_

#include "ir/graph/graph.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"

namespace cleave::ir {

// Replaces `program` and `memory`, which is its plan, by the same steps in an order with a lower peak, where it finds
// one. Steps stay in their phase, those of the update also in their layer, and run as often as before, and what runs as
// one piece stays one. All ranks get the same order. Collectives, copies to the host and back, and glances stay in
// order; steps behind one of them stay behind it, and those in front of the first one that waits for it stay in front,
// so that as much runs beside it as before.
// REQUIRES: `program` was made from `graph`.
void OrderForMemory(const Graph& graph, Program& program, MemoryPlan& memory);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_ORDER_ORDER_H_
