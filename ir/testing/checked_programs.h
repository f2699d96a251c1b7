// Programs of plans, checked as they are made.
#ifndef CLEAVE_IR_TESTING_CHECKED_PROGRAMS_H_
#define CLEAVE_IR_TESTING_CHECKED_PROGRAMS_H_

#include <optional>
#include <string>

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {

// The names of the program's steps of a phase, each followed by a space.
std::string StepNames(const Program& program, Phase phase);

// The program of a plan. Expects that the plan is valid and that all ranks agree.
Program CheckedProgram(const Graph& graph, const Plan& plan);

// The program of `graph` split in this way. Expects that it passes the whole proof of a compile; nullopt where the
// split is refused, which must be because of what it asks for.
std::optional<Program> ProvenProgram(const Graph& graph, const Distributed& split);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TESTING_CHECKED_PROGRAMS_H_
