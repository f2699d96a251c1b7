// The text of program.cc or program.cu.
#ifndef CLEAVE_CODEGEN_SOURCE_PROGRAM_TEXT_H_
#define CLEAVE_CODEGEN_SOURCE_PROGRAM_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/source/target.h"
#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/training/training.h"

namespace cleave {

// With `rank` the program of that rank, else one for all. Errors as for GenerateCpu (codegen/codegen.h).
absl::StatusOr<std::string> ProgramText(const Target& target, const Graph& graph, const Program& program,
                                        const Training& training, std::optional<int> rank);

}  // namespace cleave

#endif  // CLEAVE_CODEGEN_SOURCE_PROGRAM_TEXT_H_
