// The functions of a program: the steps of a phase that run equally often.
#ifndef CLEAVE_CODEGEN_PROGRAM_PHASES_H_
#define CLEAVE_CODEGEN_PROGRAM_PHASES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/program/stage_order.h"
#include "ir/program/program.h"

namespace cleave::codegen {

struct PhaseFunction {
  std::string name;
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = ir::Repeat::kEach;
  absl::string_view condition = "";  // Under which RunPhases calls it.
  std::optional<int> stage = {};     // Of a rank with several stages of a pipeline: the one whose steps these are.

  bool IsUpdate() const { return phase == ir::Phase::kUpdate; }
  // A pass of a micro-batch, or a part of one.
  bool IsInPass() const { return repeat == ir::Repeat::kEach && !IsUpdate(); }
  // Whether all programs have the function.
  bool IsCommon() const;
  // Whether a stage of the program's work is a part of it.
  bool Has(const OrderedStage& ordered) const;
};

// Those of any program on ranks with one stage, in the order of its text.
const std::vector<PhaseFunction>& Phases();

// Those of a program: each pass of a rank with several stages is one for each stage.
std::vector<PhaseFunction> FunctionsOf(const ir::Program& program);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_PHASES_H_
