// What the ranks of one stage of a pipeline run.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_STAGE_PROGRAM_H_
#define CLEAVE_IR_PROGRAM_PARTITION_STAGE_PROGRAM_H_

#include <vector>

#include "ir/program/program.h"

namespace cleave::ir {

// The steps of a stage, and of those that all ranks run the ones whose values it reads, and all inputs. REQUIRES:
// `program` is a pipeline's, of all stages.
Program ProgramOfStage(const Program& program, int stage);

// The programs of all stages; the program itself where it is no pipeline.
std::vector<Program> ProgramsOfStages(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_STAGE_PROGRAM_H_
