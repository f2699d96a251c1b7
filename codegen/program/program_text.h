// The text of program.cc or program.cu.
#ifndef CLEAVE_CODEGEN_PROGRAM_PROGRAM_TEXT_H_
#define CLEAVE_CODEGEN_PROGRAM_PROGRAM_TEXT_H_

#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/units/units.h"
#include "codegen/source/target.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/program.h"

namespace cleave::codegen {

// What a program is written from.
struct CodegenInput {
  const ir::Graph& graph;
  const ir::Program& program;    // Made of `graph`.
  const ir::MemoryPlan& memory;  // Of `program`, for what the target computes as one piece; not used for a pipeline.
  const ir::Training& training;
  absl::Span<const ir::PartProgram> parts = {};  // Of a pipeline: the programs of all ranks.
  Seconds at_peak = Seconds(0);  // Of a rank's products in a step at the peak of its chip; 0: not known.
};

struct TextOptions {
  std::optional<int> rank;      // Only the program of this rank; otherwise one for all ranks.
  bool repeats_layers = false;  // Equal layers one by one, for tests that compare them with those written once.
};

// Errors as for GenerateCpu (codegen/codegen.h).
absl::StatusOr<std::string> ProgramText(const Target& target, const CodegenInput& input, const TextOptions& options);

// The numbers of a program of this training graph that flags change, so that another one needs no other program: "lr",
// "optimizer.beta1".
std::set<std::string> NumbersOfFlags(const ir::Training& training, const ir::Graph& graph);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_PROGRAM_TEXT_H_
