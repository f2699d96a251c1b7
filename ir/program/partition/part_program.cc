#include "ir/program/partition/part_program.h"

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "base/check/check.h"
#include "ir/program/partition/rewrite.h"

namespace cleave::ir {
namespace {

// Removes the steps that all ranks run and whose values nothing reads, because only other parts need them. All parts
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
    const bool is_shared =
        !StageOf(program, *step).has_value() && !is_data && !std::holds_alternative<Glance>(step->action);
    if (is_shared && std::none_of(writes.begin(), writes.end(), [&](ValueId value) { return is_read[value] != 0; }))
      continue;
    for (const ValueId value : Reads(*step)) read(value);
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  program.steps = std::move(kept);
}

// Where ranks have several stages, each pass stands in one piece behind the data: those of one kind in the order in
// which a micro-batch goes through them.
void OrderByPass(Program& program) {
  if (program.pipeline->schedule.stages_per_rank == 1) return;
  const auto place = [&](const Step& step) {
    const std::optional<StagePass> pass = PassIn(program, step);
    if (!pass.has_value() || !StageOf(program, step).has_value()) return INT_MIN;
    return pass->kind == PassKind::kForward ? pass->stage : -pass->stage;
  };
  std::stable_sort(program.steps.begin(), program.steps.end(), [&](const Step& a, const Step& b) {
    return std::tuple(a.repeat, a.phase, place(a)) < std::tuple(b.repeat, b.phase, place(b));
  });
}

}  // namespace

Program ProgramOfPart(const Program& program, int part) {
  CLEAVE_CHECK(program.pipeline.has_value() && !program.part.has_value());
  Program own = program;
  own.part = part;
  const Timetable timetable = TimetableOf(program);
  const auto is_elsewhere = [&](std::optional<int> of) { return of.has_value() && timetable.PartOf(*of) != part; };
  std::erase_if(own.steps, [&](const Step& step) { return is_elsewhere(StageOf(program, step)); });
  std::erase_if(own.updates,
                [&](const ProgramUpdate& update) { return is_elsewhere(program.value(update.state).stage); });
  if (own.loss.has_value()) own.loss = std::exchange(own.loss_of, {}).at(static_cast<size_t>(part));
  for (ProgramMetric& metric : own.metrics) metric.value = std::exchange(metric.of, {}).at(static_cast<size_t>(part));
  RemoveUnread(own);
  OrderByPass(own);
  RenumberValues(own);
  return own;
}

std::vector<Program> ProgramsOfParts(const Program& program) {
  if (!program.pipeline.has_value()) return {program};
  std::vector<Program> programs;
  for (int part = 0; part < PartCount(program); ++part) programs.push_back(ProgramOfPart(program, part));
  return programs;
}

}  // namespace cleave::ir
