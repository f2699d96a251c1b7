// What a program needs besides its steps, as its text asks several times.
#ifndef CLEAVE_CODEGEN_PROGRAM_FACTS_H_
#define CLEAVE_CODEGEN_PROGRAM_FACTS_H_

#include <vector>

#include "codegen/source/emission.h"

namespace cleave::codegen {

// The numbers that differ from step to step, such as the learning rate.
std::vector<const ir::Compute*> StepScalarsOf(const ir::Program& program);

// Whether a value is such a number.
bool IsStepScalar(const Emission& emission, ir::ValueId value);

// Whether some op differs between steps of training by their number: random numbers, and what is done in training or in
// testing alone.
bool DependsOnStep(const ir::Program& program);

// Whether metrics are computed from sums over the batches of an evaluation.
bool HasTotals(const ir::Program& program);

// Whether the program shows values to its user.
bool HasGlances(const ir::Program& program);

// Whether each rank runs several stages of a pipeline.
bool HasSeveralStages(const ir::Program& program);

// Whether what has been written so far reads the rank's coordinates in the mesh.
bool ReadsCoordinates(const Emission& emission);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_FACTS_H_
