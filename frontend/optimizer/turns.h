// The steps in which losses train, as formulas of `step`.
#ifndef CLEAVE_FRONTEND_OPTIMIZER_TURNS_H_
#define CLEAVE_FRONTEND_OPTIMIZER_TURNS_H_

#include "frontend/evaluate/trainer.h"
#include "frontend/value/value.h"

namespace cleave::frontend {

// Whether they train in the step.
StepValue IsTurn(const Turns& turns);

// The number of their turns up to the step, which counts from 1; 1 before the first. In a turn it is the step of an
// optimizer that knows no other steps.
StepValue TurnNumber(const Turns& turns);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_OPTIMIZER_TURNS_H_
