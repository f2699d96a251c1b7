// The training settings of the model file, as the `main` of program.cc.
#ifndef CLEAVE_CODEGEN_SOURCE_SETTINGS_H_
#define CLEAVE_CODEGEN_SOURCE_SETTINGS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

struct MainText {
  const ir::Training& training;
  const ir::Graph& graph;
  const ir::Program& program;        // Of all stages, where it is a pipeline.
  std::optional<int> rank;           // For which the program is; nullopt: for all.
  std::map<int, std::string> types;  // The struct of each stage's program; of stage 0 where there are no stages.
};

absl::Status EmitMain(const MainText& main, SourceWriter& writer);

// The numbers by name that flags of the program change, with their values. They are variables of the program.
std::map<std::string, double> NamedNumbersOf(const ir::Training& training);

// The initializer of a step scalar's local constant in Update: "static_cast<float>(scalars.learning_rate)".
std::string StepScalarText(const ir::Attributes& attributes, const ir::Training& training);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_SOURCE_SETTINGS_H_
