#include "codegen/program/facts.h"

#include <algorithm>
#include <initializer_list>

namespace cleave::codegen {
namespace {

bool HasOp(const ir::Program& program, std::initializer_list<ir::OpKind> kinds) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const ir::Step& step) {
    const ir::Compute* compute = ir::ComputeOf(step);
    return compute != nullptr && std::find(kinds.begin(), kinds.end(), compute->kind) != kinds.end();
  });
}

}  // namespace

std::vector<const ir::Compute*> StepScalarsOf(const ir::Program& program) {
  std::vector<const ir::Compute*> ops;
  for (const ir::Step& step : program.steps) {
    const ir::Compute* compute = ir::ComputeOf(step);
    if (compute != nullptr && compute->kind == ir::OpKind::kStepScalar) ops.push_back(compute);
  }
  return ops;
}

bool IsStepScalar(const Emission& emission, ir::ValueId value) {
  const ir::Compute* source = emission.SourceOf(value);
  return source != nullptr && source->kind == ir::OpKind::kStepScalar;
}

bool DependsOnStep(const ir::Program& program) {
  const auto drops = [](const ir::Step& step) {  // Also attention may.
    const ir::Compute* compute = ir::ComputeOf(step);
    return compute != nullptr && compute->attributes.Has(ir::attribute::kRate) &&
           compute->attributes.Get(ir::attribute::kRate) > 0;
  };
  return HasOp(program, {ir::OpKind::kDropout, ir::OpKind::kNormal, ir::OpKind::kUniform, ir::OpKind::kWhileTraining,
                         ir::OpKind::kTotal}) ||
         std::any_of(program.steps.begin(), program.steps.end(), drops);
}

bool HasTotals(const ir::Program& program) { return HasOp(program, {ir::OpKind::kTotal}); }

bool HasGlances(const ir::Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const ir::Step& step) { return std::holds_alternative<ir::Glance>(step.action); });
}

bool HasSeveralStages(const ir::Program& program) {
  return program.part.has_value() && ir::OwnStages(program).size() > 1;
}

bool ReadsCoordinates(const Emission& emission) {
  return !emission.sizes.folded() && !emission.sizes.UsedAxes().empty();
}

}  // namespace cleave::codegen
