// Private to ir/program/memory: what the values of a program are for.
#ifndef CLEAVE_IR_PROGRAM_MEMORY_ROLES_H_
#define CLEAVE_IR_PROGRAM_MEMORY_ROLES_H_

#include "ir/graph/graph.h"
#include "ir/program/memory/memory.h"
#include "ir/program/program.h"

namespace cleave::ir {

// What memory a value needs that `writer` writes.
MemoryRole RoleOf(const Graph& graph, const Value& value, const Step& writer);

// By value the step that writes it.
IdVector<ValueId, const Step*> WritersOf(const Program& program);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_PROGRAM_MEMORY_ROLES_H_
