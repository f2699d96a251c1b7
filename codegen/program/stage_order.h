// The stages of a program in the order of its text.
#ifndef CLEAVE_CODEGEN_PROGRAM_STAGE_ORDER_H_
#define CLEAVE_CODEGEN_PROGRAM_STAGE_ORDER_H_

#include <vector>

#include "codegen/program/overlap.h"
#include "codegen/source/emission.h"

namespace cleave::codegen {

struct OrderedStage {
  StageAction::What what = StageAction::What::kRun;
  const ir::FusedStage* stage = nullptr;
  ir::Phase phase = ir::Phase::kForward;
  ir::Repeat repeat = ir::Repeat::kEach;
  std::optional<ir::StagePass> pass = {};  // In a pipeline.
};

// In the program's order; on a device, collectives and copies to the host's memory and back are
// started early and finished late.
std::vector<OrderedStage> OrderStages(const Emission& emission);

}  // namespace cleave::codegen

#endif  // CLEAVE_CODEGEN_PROGRAM_STAGE_ORDER_H_
