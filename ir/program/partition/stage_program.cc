#include "ir/program/partition/stage_program.h"

#include <algorithm>
#include <utility>

#include "base/check/check.h"
#include "ir/program/partition/rewrite.h"

namespace cleave::ir {
namespace {

// Removes the steps that all ranks run and whose values nothing reads, because only other stages need them. All stages
// know of all data, which is told apart by its order.
void RemoveUnread(Program& program) {
  IdVector<ValueId, uint8_t> is_read(program.values.size(), 0);
  const auto read = [&](ValueId value) { is_read[value] = 1; };
  if (program.loss.has_value()) read(*program.loss);
  for (const ProgramMetric& metric : program.metrics) read(metric.value);
  for (const ProgramUpdate& update : program.updates) {
    read(update.state);
    read(update.value);
  }
  std::vector<Step> kept;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const StepValues writes = Writes(*step);
    const Compute* compute = std::get_if<Compute>(&step->action);
    const bool is_data = compute != nullptr && compute->kind == OpKind::kInput;
    const bool is_shared = !StageOf(program, *step).has_value() && !is_data;
    if (is_shared && std::none_of(writes.begin(), writes.end(), [&](ValueId value) { return is_read[value] != 0; }))
      continue;
    for (const ValueId value : Reads(*step)) read(value);
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  program.steps = std::move(kept);
}

}  // namespace

Program ProgramOfStage(const Program& program, int stage) {
  CLEAVE_CHECK(program.pipeline.has_value() && !program.stage.has_value());
  Program own = program;
  own.stage = stage;
  const auto is_elsewhere = [&](std::optional<int> of) { return of.has_value() && of != stage; };
  std::erase_if(own.steps, [&](const Step& step) { return is_elsewhere(StageOf(program, step)); });
  std::erase_if(own.updates,
                [&](const ProgramUpdate& update) { return is_elsewhere(program.value(update.state).stage); });
  if (own.loss.has_value()) own.loss = std::exchange(own.loss_of, {}).at(static_cast<size_t>(stage));
  for (ProgramMetric& metric : own.metrics) metric.value = std::exchange(metric.of, {}).at(static_cast<size_t>(stage));
  RemoveUnread(own);
  RenumberValues(own);
  return own;
}

std::vector<Program> ProgramsOfStages(const Program& program) {
  if (!program.pipeline.has_value()) return {program};
  std::vector<Program> programs;
  for (int stage = 0; stage < StageCount(program); ++stage) programs.push_back(ProgramOfStage(program, stage));
  return programs;
}

}  // namespace cleave::ir
