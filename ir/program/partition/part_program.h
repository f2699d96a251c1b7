// What one part of the ranks of a pipeline runs: those that have the same stages.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_PART_PROGRAM_H_
#define CLEAVE_IR_PROGRAM_PARTITION_PART_PROGRAM_H_

#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// The steps of the stages of a part, pass by pass (Program::steps), and of those that all ranks run the ones whose
// values it reads, and all inputs. REQUIRES: `program` is a pipeline's, of all ranks.
Program ProgramOfPart(const Program& program, int part);

// The programs of all parts; the program itself where it is no pipeline.
std::vector<Program> ProgramsOfParts(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_PART_PROGRAM_H_
