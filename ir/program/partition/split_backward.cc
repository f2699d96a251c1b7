#include "ir/program/partition/split_backward.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph/ops/ops.h"
#include "ir/program/partition/repeats.h"

namespace cleave::ir {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, Program& program)
      : graph_(graph),
        program_(program),
        is_made_again_(program.values.size(), 0),
        is_sent_back_(program.values.size(), 0),
        is_late_(program.values.size(), 0),
        is_read_(program.values.size(), 0),
        is_read_early_(program.values.size(), 0) {
    for (const Step& step : program.steps) {
      if (IsBackward(step) && std::holds_alternative<Send>(step.action)) sends_back_.insert(*StageOf(program, step));
    }
  }

  void Run() {
    std::vector<Step>& steps = program_.steps;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) MarkSentBack(*step);
    for (Step& step : steps) {
      if (IsMadeAgain(step)) Mark(Writes(step), is_made_again_);
      if (CanWait(step) && (IsWorthWaiting(step) || AnyOf(Reads(step), is_late_))) Delay(step);
    }
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      const StepValues writes = Writes(*step);
      if (CanWait(*step) && AllOf(writes, is_read_) && !AnyOf(writes, is_read_early_)) Delay(*step);
      Mark(Reads(*step), is_read_);
      if (step->phase != Phase::kWeights) Mark(Reads(*step), is_read_early_);
    }
    OrderByRepeat(program_);
  }

 private:
  using Marks = IdVector<ValueId, uint8_t>;

  static bool IsBackward(const Step& step) { return step.phase == Phase::kBackward && step.repeat == Repeat::kEach; }

  // Whether the step makes a value of the forward pass again, or moves one, of which something is sent back, or which
  // is made of such a value.
  bool IsMadeAgain(const Step& step) const {
    const StepValues writes = Writes(step);
    if (!IsBackward(step) || writes.empty()) return false;
    if (graph_.op(program_.value(writes.front()).origin).phase != Phase::kForward) return false;
    const bool computes = std::holds_alternative<Compute>(step.action);
    return (computes && AnyOf(writes, is_sent_back_)) || AnyOf(Reads(step), is_made_again_);
  }

  bool IsWorthWaiting(const Step& step) const {
    const Compute* compute = std::get_if<Compute>(&step.action);
    const bool is_product = compute != nullptr && DefinitionOf(compute->kind).op_class == OpClass::kProduct;
    return is_product && !AnyOf(Reads(step), is_made_again_);
  }

  static bool AnyOf(const StepValues& values, const Marks& marks) {
    return std::any_of(values.begin(), values.end(), [&](ValueId value) { return marks[value] != 0; });
  }
  static bool AllOf(const StepValues& values, const Marks& marks) {
    return std::all_of(values.begin(), values.end(), [&](ValueId value) { return marks[value] != 0; });
  }
  static void Mark(const StepValues& values, Marks& marks) {
    for (const ValueId value : values) marks[value] = 1;
  }

  void MarkSentBack(const Step& step) {
    const bool is_sent = std::holds_alternative<Send>(step.action) || AnyOf(Writes(step), is_sent_back_);
    if (IsBackward(step) && is_sent) Mark(Reads(step), is_sent_back_);
  }

  // What is received is taken when it is sent.
  bool CanWait(const Step& step) const {
    const bool communicates = std::holds_alternative<Send>(step.action) || std::holds_alternative<Receive>(step.action);
    if (!IsBackward(step) || communicates || AnyOf(Writes(step), is_sent_back_)) return false;
    const std::optional<int> stage = StageOf(program_, step);
    return stage.has_value() && sends_back_.count(*stage) > 0;
  }

  void Delay(Step& step) {
    step.phase = Phase::kWeights;
    Mark(Writes(step), is_late_);
  }

  const Graph& graph_;
  Program& program_;
  std::set<int> sends_back_;  // Stages that send gradients to earlier ones.
  Marks is_made_again_;
  Marks is_sent_back_;  // Or what is sent back is made of it.
  Marks is_late_;       // Made in the phase of the weights.
  Marks is_read_, is_read_early_;
};

}  // namespace

void SplitBackward(const Graph& graph, Program& program) {
  const bool has_passes = program.pipeline.has_value() && program.time.has_value();
  if (has_passes && program.pipeline->schedule == PipelineSchedule::kZeroBubble) Splitter(graph, program).Run();
}

}  // namespace cleave::ir
