// Where a program looks at values.
#ifndef CLEAVE_IR_PROGRAM_PARTITION_GLANCES_H_
#define CLEAVE_IR_PROGRAM_PARTITION_GLANCES_H_

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"

namespace cleave::ir {

// Adds the graph's looks to a finished program, each behind the step that writes what it looks at; no other step
// changes. A look takes the value in the layout in which its readers see it. A sum whose parts lie on several ranks is
// taken where the program has added them up, and otherwise in its parts. Of micro-batches each is looked at, and what
// they make together after the last one. A look at a forward value is taken in the forward phase, because a test has no
// other.
void AddGlances(const Graph& graph, const Plan& plan, Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_PARTITION_GLANCES_H_
