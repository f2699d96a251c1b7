// Whether the steps of a program find in memory what they read: the arena as a rank has it, in which each byte knows
// the element that was written there last.
//
// Reshapes, slices that lie in what they are slices of, and concatenations that are written part by part say where an
// element comes from without a write. So a wrong place of a part is found, a buffer that is used again too early, and
// what one micro-batch should leave for the next.
#ifndef CLEAVE_TESTS_PROPERTIES_OVERWRITTEN_H_
#define CLEAVE_TESTS_PROPERTIES_OVERWRITTEN_H_

#include <optional>
#include <string>

#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"

namespace cleave::tests::properties {

// Which step of a training step on `rank` reads what something else has overwritten, or what was never written; nullopt
// where none does. REQUIRES: the program is no pipeline's, and no images lie in blocks.
std::optional<std::string> FindOverwritten(const ir::Program& program, const ir::MemoryPlan& memory, int rank);

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_OVERWRITTEN_H_
