#include "ir/program/partition/repeats.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/sharding/micro_batches/micro_batches.h"

namespace cleave::ir {
namespace {

class Repeats {
 public:
  Repeats(const Plan& plan, const Program& program)
      : plan_(plan), program_(program), made_(program.values.size(), Repeat::kOnceBefore) {}

  // For the next step of the program.
  Repeat Of(const Step& step) {
    const Repeat repeat = Decide(step);
    for (const ValueId value : Writes(step)) made_[value] = RepeatOfResult(program_, step, repeat);
    last_ = repeat;
    return repeat;
  }

 private:
  Repeat Decide(const Step& step) const {
    if (step.repeat == Repeat::kEachBefore) return step.repeat;
    if (std::holds_alternative<Receive>(step.action)) return last_;  // As what it receives is sent.
    if (IsReport(step)) return Repeat::kOnceAfter;
    const StepValues reads = Reads(step);
    const StepValues writes = Writes(step);
    const auto depends = [&](ValueId value) { return DependsOn(program_.value(value).layout, *program_.time); };
    const auto reads_of = [&](Repeat repeat) {
      return std::any_of(reads.begin(), reads.end(), [&](ValueId value) { return made_[value] == repeat; });
    };
    if (std::any_of(reads.begin(), reads.end(), depends) || std::any_of(writes.begin(), writes.end(), depends)) {
      return Repeat::kEach;
    }
    if (step.phase == Phase::kUpdate || reads_of(Repeat::kOnceAfter)) return Repeat::kOnceAfter;
    return IsMadeAgain(step, writes) || reads_of(Repeat::kEach) ? Repeat::kEach : Repeat::kOnceBefore;
  }

  // Loss and metrics alone go to earlier stages in the forward pass.
  bool IsReport(const Step& step) const {
    const Send* send = std::get_if<Send>(&step.action);
    return send != nullptr && step.phase < Phase::kBackward && send->to < *program_.value(send->input).stage;
  }

  bool IsMadeAgain(const Step& step, const StepValues& writes) const {
    if (writes.empty()) return false;
    switch (plan_.ops[program_.value(writes[0]).origin].retention) {
      case Retention::kKeep:
        return false;
      case Retention::kRedistribute:
        return !std::holds_alternative<Compute>(step.action);
      case Retention::kRecompute:
        return true;
      case Retention::kOffload:
        return std::holds_alternative<HostCopy>(step.action) && !IsCopyOut(step);
    }
    return false;
  }

  const Plan& plan_;
  const Program& program_;
  Repeat last_ = Repeat::kEach;     // Of the step before.
  IdVector<ValueId, Repeat> made_;  // How often the value changes; of a sum over time, when it is complete.
};

// Sources that the loop before the others reads stand in front of it, and all inputs: these keep their order.
void MoveSourcesBefore(Program& program) {
  std::set<ValueId> read;
  for (const Step& step : program.steps) {
    if (step.repeat != Repeat::kEachBefore) continue;
    for (const ValueId value : Reads(step)) read.insert(value);
  }
  if (read.empty()) return;
  for (Step& step : program.steps) {
    const Compute* const compute = std::get_if<Compute>(&step.action);
    if (compute == nullptr || !compute->inputs.empty()) continue;
    if (compute->kind == OpKind::kInput || read.count(compute->output) > 0) step.repeat = Repeat::kEachBefore;
  }
}

}  // namespace

void SetRepeats(const Plan& plan, Program& program) {
  if (program.time.has_value()) {
    Repeats repeats(plan, program);
    for (Step& step : program.steps) step.repeat = repeats.Of(step);
    MoveSourcesBefore(program);
  }
  // What another stage reads in its backward pass is sent in the forward pass.
  if (program.time.has_value() || program.pipeline.has_value()) OrderByRepeat(program);
}

Repeat RepeatOfResult(const Program& program, const Step& step, Repeat repeat) {
  const Collective* collective = std::get_if<Collective>(&step.action);
  if (collective == nullptr || !IsSumOverTime(program, *collective)) return repeat;
  return repeat == Repeat::kEachBefore ? Repeat::kOnceBefore : Repeat::kOnceAfter;
}

void OrderByRepeat(Program& program) {
  // Steps are large: each is moved once.
  std::map<std::pair<Repeat, Phase>, std::vector<Step>> kinds;
  for (Step& step : program.steps) kinds[{step.repeat, step.phase}].push_back(std::move(step));
  program.steps.clear();
  for (auto& [kind, steps] : kinds) {
    program.steps.insert(program.steps.end(), std::make_move_iterator(steps.begin()),
                         std::make_move_iterator(steps.end()));
  }
}

}  // namespace cleave::ir
