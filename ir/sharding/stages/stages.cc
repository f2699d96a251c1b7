#include "ir/sharding/stages/stages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

constexpr std::array<std::pair<PipelineSchedule, absl::string_view>, 3> kSchedules = {
    {{PipelineSchedule::kGPipe, "gpipe"},
     {PipelineSchedule::kOneForwardOneBackward, "one_f_one_b"},
     {PipelineSchedule::kZeroBubble, "zero_bubble"}}};

bool IsForward(const Op& op) { return op.phase == Phase::kForward || op.phase == Phase::kMetric; }

}  // namespace

absl::string_view PipelineScheduleName(PipelineSchedule schedule) {
  for (const auto& [value, name] : kSchedules) {
    if (value == schedule) return name;
  }
  return "";
}

std::optional<PipelineSchedule> ParsePipelineSchedule(absl::string_view name) {
  for (const auto& [value, candidate] : kSchedules) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

PassKind PassOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
    case Phase::kMetric:
      return PassKind::kForward;
    case Phase::kBackward:
      return PassKind::kBackward;
    case Phase::kWeights:
      return PassKind::kWeights;
    case Phase::kUpdate:
      break;
  }
  CLEAVE_UNREACHABLE();
}

int64_t MicroBatchesAhead(PipelineSchedule schedule, int stages, int stage, int64_t micro_batches, PassKind kind) {
  if (kind == PassKind::kForward) return 0;
  const int64_t later_stages = stages - 1 - stage;
  switch (schedule) {
    case PipelineSchedule::kGPipe:
      return micro_batches - 1;
    case PipelineSchedule::kOneForwardOneBackward:
      return std::min(later_stages, micro_batches - 1);
    case PipelineSchedule::kZeroBubble:
      return std::min(kind == PassKind::kWeights ? int64_t{stages} - 1 : later_stages, micro_batches - 1);
  }
  CLEAVE_UNREACHABLE();
}

std::vector<Pass> PassesOf(PipelineSchedule schedule, int stages, int stage, int64_t micro_batches) {
  std::vector<Pass> passes;
  for (int64_t turn = 0; turn < 2 * micro_batches; ++turn) {
    for (const PassKind kind : kPassKinds) {
      if (kind == PassKind::kWeights && schedule != PipelineSchedule::kZeroBubble) continue;
      const int64_t own = turn - MicroBatchesAhead(schedule, stages, stage, micro_batches, kind);
      if (own >= 0 && own < micro_batches) passes.push_back({.micro_batch = own, .kind = kind});
    }
  }
  return passes;
}

bool IsOnEveryStage(const Op& op) {
  return op.kind == OpKind::kInput || op.kind == OpKind::kConstant || op.kind == OpKind::kStepScalar;
}

IdVector<OpId, int> StagesOf(const Graph& graph, const std::vector<OpId>& first) {
  IdVector<OpId, int> stages(graph.ops.size(), 0);
  const auto by_place = [&](OpId op) {
    return static_cast<int>(std::upper_bound(first.begin(), first.end(), op) - first.begin());
  };
  // Sources that keep a value go where they are read first.
  const auto keeps = [](const Op& op) { return op.kind == OpKind::kParameter || op.kind == OpKind::kState; };
  IdVector<OpId, int> reader(graph.ops.size(), static_cast<int>(first.size()) + 1);
  for (const Op& op : graph.ops) {
    if (!IsForward(op) || IsOnEveryStage(op) || keeps(op)) continue;
    int stage = op.phase == Phase::kForward ? by_place(op.id) : 0;
    for (const OpId input : op.inputs) {
      if (!keeps(graph.op(input))) stage = std::max(stage, stages[input]);
    }
    stages[op.id] = stage;
    for (const OpId input : op.inputs) reader[input] = std::min(reader[input], stage);
  }
  for (const Op& op : graph.ops) {
    if (keeps(op) && IsForward(op)) stages[op.id] = std::min(reader[op.id], static_cast<int>(first.size()));
  }
  // What the optimizer keeps goes to its parameter: to the earliest stage of what its new value is made of.
  IdVector<OpId, uint8_t> is_open(graph.ops.size(), 0);
  for (const Op& op : graph.ops) is_open[op.id] = keeps(op) && !IsForward(op);
  for (const Op& op : graph.ops) {
    if (IsForward(op) || IsOnEveryStage(op) || keeps(op)) continue;
    if (op.inherits.has_value()) {
      stages[op.id] = stages[op.inherits->op];
      continue;
    }
    int stage = static_cast<int>(first.size()) + 1;
    bool follows_open = false;
    for (const OpId input : op.inputs) {
      if (is_open[input] != 0) follows_open = true;
      if (IsOnEveryStage(graph.op(input)) || is_open[input] != 0) continue;
      // The gradient of a parameter that several stages read is sent to the parameter.
      const std::optional<OpId>& parameter = graph.op(input).gradient_of;
      const bool is_update = op.phase == Phase::kUpdate && parameter.has_value() && keeps(graph.op(*parameter));
      stage = std::min(stage, is_update ? stages[*parameter] : stages[input]);
    }
    if (stage <= static_cast<int>(first.size())) {
      stages[op.id] = stage;
    } else {
      is_open[op.id] = follows_open;  // Made of what the optimizer keeps alone.
    }
  }
  // Each reader tells the states that it reads where they are.
  for (auto op = graph.ops.end(); op-- != graph.ops.begin();) {
    if (is_open[op->id] != 0) continue;
    for (const OpId input : op->inputs) {
      if (is_open[input] == 0) continue;
      stages[input] = stages[op->id];
      is_open[input] = 0;
    }
  }
  return stages;
}

std::vector<std::string> VerifyStages(const Graph& graph, const IdVector<OpId, int>& stage, int stages) {
  std::vector<std::string> errors;
  for (const Op& op : graph.ops) {
    if (stage[op.id] < 0 || stage[op.id] >= stages) {
      errors.push_back(absl::StrCat("`", op.name, "` is in stage ", stage[op.id], " of ", stages));
      continue;
    }
    if (IsOnEveryStage(op)) continue;
    for (const OpId input : op.inputs) {
      if (IsOnEveryStage(graph.op(input)) || op.phase == Phase::kUpdate) continue;
      // A backward op reads values of the forward pass, which went on, and gradients, which come back.
      const bool comes_back = op.phase == Phase::kBackward && graph.op(input).phase == Phase::kBackward;
      if (comes_back && stage[input] < stage[op.id]) {
        errors.push_back(absl::StrCat("`", op.name, "` in stage ", stage[op.id], " reads the gradient `",
                                      graph.op(input).name, "` of the earlier stage ", stage[input]));
      } else if (!comes_back && stage[input] > stage[op.id]) {
        errors.push_back(absl::StrCat("`", op.name, "` in stage ", stage[op.id], " reads `", graph.op(input).name,
                                      "` of the later stage ", stage[input]));
      }
    }
  }
  return errors;
}

}  // namespace cleave::ir
