#include "ir/sharding/stages/stages.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

constexpr std::array<std::pair<PipelineSchedule::Order, absl::string_view>, 4> kOrders = {
    {{PipelineSchedule::kGPipe, "gpipe"},
     {PipelineSchedule::kOneForwardOneBackward, "one_f_one_b"},
     {PipelineSchedule::kZeroBubble, "zero_bubble"},
     {PipelineSchedule::kInterleaved, "interleaved"}}};

bool IsForward(const Op& op) { return op.phase == Phase::kForward || op.phase == Phase::kMetric; }

}  // namespace

std::string PipelineScheduleName(PipelineSchedule schedule) {
  std::string text;
  for (const auto& [order, name] : kOrders) {
    if (order == schedule.order) text = std::string(name);
  }
  if (schedule.order == PipelineSchedule::kInterleaved) absl::StrAppend(&text, "(", schedule.stages_per_rank, ")");
  return text;
}

std::optional<PipelineSchedule> ParsePipelineSchedule(absl::string_view name) {
  for (const auto& [order, candidate] : kOrders) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, candidate)) continue;
    if (order != PipelineSchedule::kInterleaved)
      return rest.empty() ? std::optional(PipelineSchedule(order)) : std::nullopt;
    int count = 0;
    const bool is_count = absl::ConsumePrefix(&rest, "(") && absl::ConsumeSuffix(&rest, ")") &&
                          absl::SimpleAtoi(rest, &count) && count > 1 && count <= kMostStagesPerRank;
    return is_count ? std::optional(PipelineSchedule(order, count)) : std::nullopt;
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

// Of `parts_` micro-batches after another a part does the passes of its first stage, then those of its next one.
Pass Timetable::PassAt(int part, PassKind kind, int64_t number) const {
  const int64_t stages = schedule_.stages_per_rank;
  if (stages == 1) return {.stage = part, .micro_batch = number, .kind = kind};
  const int64_t round = number / parts_ % stages;
  const int64_t own = kind == PassKind::kForward ? round : stages - 1 - round;
  return {.stage = part + static_cast<int>(own) * parts_,
          .micro_batch = number / (parts_ * stages) * parts_ + number % parts_,
          .kind = kind};
}

int64_t Timetable::TurnOf(StagePass pass, int64_t micro_batch) const {
  const int64_t ahead = TurnsAhead(PartOf(pass.stage), pass.kind);
  const int64_t stages = schedule_.stages_per_rank;
  if (stages == 1) return micro_batch + ahead;
  const int64_t own = pass.stage / parts_;
  const int64_t round = pass.kind == PassKind::kForward ? own : stages - 1 - own;
  return (micro_batch / parts_ * stages + round) * parts_ + micro_batch % parts_ + ahead;
}

int64_t Timetable::TurnsAhead(int part, PassKind kind) const {
  if (kind == PassKind::kForward) return 0;
  const int64_t later_parts = parts_ - 1 - part;
  const int64_t most = PassesOfAKind() - 1;
  switch (schedule_.order) {
    case PipelineSchedule::kGPipe:
      return most;
    case PipelineSchedule::kOneForwardOneBackward:
      return std::min(later_parts, most);
    case PipelineSchedule::kZeroBubble:
      return std::min(kind == PassKind::kWeights ? int64_t{parts_} - 1 : later_parts, most);
    case PipelineSchedule::kInterleaved:
      return std::min(2 * later_parts + (schedule_.stages_per_rank - 1) * int64_t{parts_}, most);
  }
  CLEAVE_UNREACHABLE();
}

std::vector<Pass> Timetable::PassesOf(int part) const {
  const int64_t count = PassesOfAKind();
  std::vector<Pass> passes;
  for (int64_t turn = 0; turn < 2 * count; ++turn) {
    for (const PassKind kind : kPassKinds) {
      if (kind == PassKind::kWeights && schedule_.order != PipelineSchedule::kZeroBubble) continue;
      const int64_t own = turn - TurnsAhead(part, kind);
      if (own >= 0 && own < count) passes.push_back(PassAt(part, kind, own));
    }
  }
  return passes;
}

std::vector<StagePass> Timetable::WayThrough(int part) const {
  std::vector<StagePass> way;
  for (const PassKind kind : kPassKinds) {
    for (int i = 0; i < schedule_.stages_per_rank; ++i) {
      const int own = kind == PassKind::kForward ? i : schedule_.stages_per_rank - 1 - i;
      way.push_back({.stage = part + own * parts_, .kind = kind});
    }
  }
  return way;
}

int64_t Timetable::MicroBatchesBetween(StagePass from, StagePass to) const {
  if (schedule_.stages_per_rank == 1) return TurnOf(to, 0) - TurnOf(from, 0) + 1;
  // Micro-batch i + places begins when micro-batch i has ended.
  int64_t places = 1;
  for (int64_t micro_batch = 0; micro_batch + places < micro_batches_; ++micro_batch) {
    while (micro_batch + places < micro_batches_ && TurnOf(from, micro_batch + places) <= TurnOf(to, micro_batch)) {
      ++places;
    }
  }
  return places;
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
  // What the optimizer keeps goes to its parameter.
  IdVector<OpId, uint8_t> is_open(graph.ops.size(), 0);
  for (const Op& op : graph.ops) is_open[op.id] = keeps(op) && !IsForward(op);
  for (const Op& op : graph.ops) {
    if (IsForward(op) || IsOnEveryStage(op) || keeps(op)) continue;
    if (op.inherits.has_value()) {
      stages[op.id] = stages[op.inherits->op];
      continue;
    }
    // A backward op is where the earliest input is. An update is where most of what it reads is, at its parameter: what
    // all have in common, such as the norm of all gradients, comes there. A sum over parameters goes on to later
    // stages.
    const int open = static_cast<int>(first.size()) + 1;
    int stage = open;
    std::tuple<int64_t, bool, int> most = {};
    bool follows_open = false;
    for (const OpId input : op.inputs) {
      const Op& read = graph.op(input);
      if (is_open[input] != 0) follows_open = true;
      if (IsOnEveryStage(read) || is_open[input] != 0) continue;
      if (op.phase != Phase::kUpdate) {
        stage = std::min(stage, stages[input]);
        continue;
      }
      // The gradient of a parameter that several stages read is sent to the parameter.
      const bool is_gradient = read.gradient_of.has_value() && keeps(graph.op(*read.gradient_of));
      const int own = is_gradient ? stages[*read.gradient_of] : stages[input];
      const std::tuple own_part = {ElementCount(read.type.shape), is_gradient || keeps(read), own};
      if (stage == open || own_part > most) {
        stage = own;
        most = own_part;
      }
    }
    if (stage != open) {
      stages[op.id] = stage;
    } else {
      is_open[op.id] = follows_open;  // Made of what the optimizer keeps alone.
    }
  }
  // What the backward pass makes of no gradient that comes from a later stage, such as a cast of a forward value or the
  // share that one of several losses has in the whole, is where it is read last: gradients go to earlier stages.
  IdVector<OpId, uint8_t> begins(graph.ops.size(), 0);
  for (const Op& op : graph.ops) {
    begins[op.id] = op.phase == Phase::kBackward && !IsOnEveryStage(op) &&
                    std::all_of(op.inputs.begin(), op.inputs.end(), [&](OpId id) {
                      return IsForward(graph.op(id)) || IsOnEveryStage(graph.op(id)) || begins[id] != 0;
                    });
  }
  for (auto op = graph.ops.end(); op-- != graph.ops.begin();) {
    if (op->phase != Phase::kBackward) continue;
    for (const OpId input : op->inputs) {
      if (begins[input] != 0) stages[input] = std::max(stages[input], stages[op->id]);
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
