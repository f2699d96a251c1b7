#include "codegen/program/phases.h"

#include "absl/strings/str_cat.h"
#include "codegen/program/facts.h"

namespace cleave::codegen {

bool PhaseFunction::IsCommon() const {
  if (stage.has_value()) return false;
  return IsUpdate() || (repeat == ir::Repeat::kEach && phase != ir::Phase::kWeights);
}

bool PhaseFunction::Has(const OrderedStage& ordered) const {
  if (stage.has_value() && ordered.pass->stage != *stage) return false;
  return ordered.phase == phase && (ordered.repeat == repeat || IsUpdate());
}

const std::vector<PhaseFunction>& Phases() {
  static const auto& phases = *new std::vector<PhaseFunction>{
      {"SumInputs", ir::Phase::kForward, ir::Repeat::kEachBefore},
      {"BeforeForward", ir::Phase::kForward, ir::Repeat::kOnceBefore},
      {"BeforeMetrics", ir::Phase::kMetric, ir::Repeat::kOnceBefore, "metrics"},
      {"BeforeBackward", ir::Phase::kBackward, ir::Repeat::kOnceBefore, "gradients"},
      {"Forward", ir::Phase::kForward, ir::Repeat::kEach},
      {"Metrics", ir::Phase::kMetric, ir::Repeat::kEach, "metrics"},
      {"Backward", ir::Phase::kBackward, ir::Repeat::kEach, "gradients"},
      {"WeightGradients", ir::Phase::kWeights, ir::Repeat::kEach, "gradients"},
      {"AfterForward", ir::Phase::kForward, ir::Repeat::kOnceAfter},
      {"AfterMetrics", ir::Phase::kMetric, ir::Repeat::kOnceAfter, "metrics"},
      {"AfterBackward", ir::Phase::kBackward, ir::Repeat::kOnceAfter, "gradients"},
      {"Update", ir::Phase::kUpdate, ir::Repeat::kOnceAfter},
  };
  return phases;
}

std::vector<PhaseFunction> FunctionsOf(const ir::Program& program) {
  std::vector<PhaseFunction> functions;
  for (const PhaseFunction& phase : Phases()) {
    if (!phase.IsInPass() || !HasSeveralStages(program)) {
      functions.push_back(phase);
      continue;
    }
    for (const ir::StagePass& pass : ir::TimetableOf(program).WayThrough(*program.part)) {
      if (pass.kind != ir::PassOf(phase.phase)) continue;
      PhaseFunction& own = functions.emplace_back(phase);
      absl::StrAppend(&own.name, "OfStage", pass.stage);
      own.stage = pass.stage;
    }
  }
  return functions;
}

}  // namespace cleave::codegen
