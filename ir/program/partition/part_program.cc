#include "ir/program/partition/part_program.h"

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "base/check/check.h"
#include "base/parallel/parallel.h"
#include "ir/program/partition/rewrite.h"

namespace cleave::ir {
namespace {

// The steps of `own`, a part of `program`: those of its stages, and of the ones that all ranks run those whose values
// are read; the others only other parts need. All parts know of all data, which is told apart by its order.
std::vector<const Step*> StepsOfPart(const Program& program, const Timetable& timetable, const Program& own) {
  IdVector<ValueId, uint8_t> is_read(program.values.size(), 0);
  const auto read = [&](ValueId value) { is_read[value] = 1; };
  if (own.loss.has_value()) read(*own.loss);
  for (const ProgramMetric& metric : own.metrics) read(metric.value);
  for (const ProgramUpdate& update : own.updates) {
    read(update.state);
    read(update.value);
  }
  std::vector<const Step*> kept;
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const std::optional<int> stage = StageOf(program, *step);
    if (stage.has_value() && timetable.PartOf(*stage) != *own.part) continue;
    const StepValues writes = Writes(*step);
    const Compute* compute = std::get_if<Compute>(&step->action);
    const bool is_data = compute != nullptr && compute->kind == OpKind::kInput;
    const bool is_shared = !stage.has_value() && !is_data && !std::holds_alternative<Glance>(step->action);
    if (is_shared && std::none_of(writes.begin(), writes.end(), [&](ValueId value) { return is_read[value] != 0; }))
      continue;
    for (const ValueId value : Reads(*step)) read(value);
    kept.push_back(&*step);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
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

// The steps of the stages of a part, pass by pass (Program::steps), and of those that all ranks run the ones whose
// values it reads, and all inputs.
Program ProgramOfPart(const Program& program, const Timetable& timetable, int part) {
  Program own{.model = program.model,
              .file = program.file,
              .mesh = program.mesh,
              .time = program.time,
              .pipeline = program.pipeline,
              .part = part,
              .values = IdVector<ValueId, Value>(program.values.size()),
              .steps = {},
              .loss = std::nullopt,
              .loss_of = {},
              .metrics = program.metrics,
              .updates = {},
              .is_manual = program.is_manual};
  if (program.loss.has_value()) own.loss = program.loss_of.at(static_cast<size_t>(part));
  for (ProgramMetric& metric : own.metrics) metric.value = std::exchange(metric.of, {}).at(static_cast<size_t>(part));
  for (const ProgramUpdate& update : program.updates) {
    const std::optional<int> stage = program.value(update.state).stage;
    if (!stage.has_value() || timetable.PartOf(*stage) == part) own.updates.push_back(update);
  }
  for (const Step* step : StepsOfPart(program, timetable, own)) {
    own.steps.push_back(*step);
    for (const ValueId value : Writes(*step)) own.values[value] = program.value(value);
  }
  OrderByPass(own);
  RenumberValues(own);
  return own;
}

}  // namespace

std::vector<Program> ProgramsOfParts(const Program& program) {
  if (!program.pipeline.has_value()) return {program};
  CLEAVE_CHECK(!program.part.has_value());
  const Timetable timetable = TimetableOf(program);
  return MapInParallel(static_cast<size_t>(PartCount(program)),
                       [&](size_t part) { return ProgramOfPart(program, timetable, static_cast<int>(part)); });
}

}  // namespace cleave::ir
