// The order in which a program that takes its batch in micro-batches does its passes; in a stage of a pipeline that of
// the schedule.
#ifndef CLEAVE_CODEGEN_PROGRAM_PASSES_H_
#define CLEAVE_CODEGEN_PROGRAM_PASSES_H_

#include <vector>

#include "codegen/program/phases.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// Writes RunPhases, which calls those of `functions` that have stages. REQUIRES: the program has micro-batches.
void EmitRunPhases(const Emission& emission, const std::vector<PhaseFunction>& functions,
                   const std::vector<OrderedStage>& order, cpp::Code& code);

// Where a rank has several stages: writes the passes of one micro-batch through all of them.
void EmitPassesOfAllStages(const Emission& emission, const std::vector<PhaseFunction>& functions,
                           const std::vector<OrderedStage>& order, cpp::Code& code);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_PASSES_H_
