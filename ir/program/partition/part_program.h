// What one part of the ranks of a pipeline runs: those that have the same stages.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_PART_PROGRAM_H_
#define CLEAVE_IR_PROGRAM_PARTITION_PART_PROGRAM_H_

#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// The programs of all parts of the ranks: each has the steps of its stages, pass by pass (Program::steps), of those
// that all ranks run the ones whose values it reads, and all inputs. The program itself where it is no pipeline.
// REQUIRES: `program` is that of all ranks.
std::vector<Program> ProgramsOfParts(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_PART_PROGRAM_H_
