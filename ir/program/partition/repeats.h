// How often each step of a program runs.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_REPEATS_H_
#define CLEAVE_IR_PROGRAM_PARTITION_REPEATS_H_

#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

// Sets Step::repeat of all steps and orders them by it. Steps that are said to run for each micro-batch before the
// others do so. A step runs for each micro-batch if it reads or writes samples or parts of sums, or if the backward
// pass makes its value again or copies it back (OpPlan::retention); after them if it reads a sum, or updates; else
// before them. Nothing changes in a program without an axis of time.
void SetRepeats(const Plan& plan, Program& program);

// When what a step writes is there that runs so: a sum over the micro-batches behind the loop that adds it up.
Repeat RepeatOfResult(const Program& program, const Step& step, Repeat repeat);

// Brings steps into the order of their repeats, and those of one kind into that of their phases.
void OrderByRepeat(Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_REPEATS_H_
