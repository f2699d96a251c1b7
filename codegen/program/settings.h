// The training settings of the model file, as the `main` of program.cc.
#ifndef CLEAVE_CODEGEN_PROGRAM_SETTINGS_H_
#define CLEAVE_CODEGEN_PROGRAM_SETTINGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units/units.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

// The struct of the ranks of a part.
struct ProgramType {
  std::string name;                 // "stages_1_to_4::MnistModel"
  std::optional<int64_t> row = {};  // Which of the parts that share it; nullopt where nothing differs between them.
};

struct MainText {
  const ir::Training& training;
  const ir::Graph& graph;
  const ir::Program& program;        // Of all stages, where it is a pipeline.
  std::optional<int> rank;           // For which the program is; nullopt: for all.
  Seconds at_peak = Seconds(0);      // CodegenInput's.
  std::map<int, ProgramType> types;  // By part of the ranks; 0 where the program is no pipeline.
};

absl::Status EmitMain(const MainText& main, cpp::Code& code);

// A number that flags of the program change: a variable of the program.
struct NamedNumber {
  std::string name;  // "optimizer.beta1"
  std::string
      variable;  // "optimizer_beta1"; empty where no flag can change it, because another value is another program.
  double value = 0;
};

// Those of a program, of all stages where it is a pipeline, in the order of their names.
std::vector<NamedNumber> NamedNumbersOf(const ir::Training& training, const ir::Program& program);

// Those of programs of this graph.
std::vector<NamedNumber> NamedNumbersOf(const ir::Training& training, const ir::Graph& graph);

// The variables by the names of the numbers that have one.
std::map<std::string, std::string> VariablesOf(const std::vector<NamedNumber>& numbers);

// The header with the functions that make samples, in the output folder: "custom/spirals.h". REQUIRES: the data is
// such.
std::string CustomHeaderOf(const ir::DataSource& data);

// The initializer of a step scalar's local constant: "static_cast<float>(scalars.learning_rate)".
cpp::Expr StepScalarExpr(const ir::Attributes& attributes, const Emission& emission);

// The statements of a function of `step` that returns the same as double, for one that is long.
cpp::Code StepScalarStatements(const ir::Attributes& attributes, const Emission& emission);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_SETTINGS_H_
