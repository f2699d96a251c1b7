// Reading guide: TimeOf adds up what a stage does alone, AddMessages what it sends, and Timeline runs the passes of all
// stages.
#include "search/cost/pipeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/check/check.h"
#include "ir/program/fuse/fuse.h"
#include "ir/sharding/stages/stages.h"
#include "search/cost/time.h"

namespace cleave::search {
namespace {

bool IsTimed(const ir::Step& step) { return step.phase != ir::Phase::kMetric; }

void AddMessages(const ir::Program& program, const Cluster& cluster, std::vector<StageMessage>& messages,
                 Prediction& prediction) {
  for (const ir::Step& step : program.steps) {
    const ir::Send* send = std::get_if<ir::Send>(&step.action);
    if (send == nullptr || !IsTimed(step)) continue;
    const Bytes bytes = ir::LargestLocalBytes(program, send->input);
    const Seconds seconds =
        CollectiveSeconds(cluster, program.mesh, ir::CollectiveKind::kSendReceive, {program.pipeline->axis}, bytes);
    const auto runs = static_cast<double>(ir::RunsOf(program, step));
    prediction.communication += seconds * runs;
    prediction.sent_bytes_per_rank += static_cast<double>(bytes.value()) * runs;
    // Without micro-batches the loss goes back at the end of the forward pass, when nothing waits for it any more.
    const bool is_backward = step.phase == ir::Phase::kBackward;
    if (step.repeat != ir::Repeat::kEach || is_backward != (send->to < *program.stage)) continue;
    messages.push_back({.from = *program.stage, .to = send->to, .kind = ir::PassOf(step.phase), .seconds = seconds});
  }
}

Seconds& PartOf(StageSeconds& time, ir::PassKind kind) {
  switch (kind) {
    case ir::PassKind::kForward:
      return time.forward;
    case ir::PassKind::kBackward:
      return time.backward;
    case ir::PassKind::kWeights:
      return time.weights;
  }
  CLEAVE_UNREACHABLE();
}

// `alone`: the prediction of the stage's program by itself. What runs side by side there is taken to do so in all
// passes alike.
StageSeconds TimeOf(const ir::StageProgram& stage, const Cluster& cluster, const Prediction& alone) {
  const ir::Program& program = stage.program;
  const ir::Fusion& fusion = stage.memory.fusion;
  const std::vector<Seconds> times = StageTimes(program, fusion, cluster);
  const double sum = (alone.compute + alone.communication + alone.host_copies).value();
  const double share = sum > 0 ? alone.step.value() / sum : 1;
  const auto micro_batches = static_cast<double>(ir::MicroBatches(program));
  StageSeconds time;
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::FusedStage& fused = fusion.stages[i];
    const ir::Step& first = program.steps[static_cast<size_t>(ir::StepsOf(fused).front())];
    if (!IsTimed(first)) continue;
    const bool is_once = fused.repeat != ir::Repeat::kEach || fused.phase == ir::Phase::kUpdate;
    Seconds& part = is_once ? time.once : PartOf(time, ir::PassOf(fused.phase));
    part += times[i] * (is_once ? share : share / micro_batches);
  }
  return time;
}

class Timeline {
 public:
  explicit Timeline(const PassTask& task)
      : task_(task), next_(task.stages.size(), 0), free_(task.stages.size(), Seconds(0)) {
    const int stages = static_cast<int>(task.stages.size());
    for (int stage = 0; stage < stages; ++stage) {
      std::vector<ir::Pass>& passes =
          order_.emplace_back(ir::PassesOf(task.schedule, stages, stage, task.micro_batches));
      const bool splits = task.stages[static_cast<size_t>(stage)].weights > Seconds(0);
      std::erase_if(passes, [&](const ir::Pass& pass) { return pass.kind == ir::PassKind::kWeights && !splits; });
    }
  }

  // In the order of the schedule no stage waits for ever (ir/proof/check).
  std::vector<PassTime> Run() {
    std::vector<std::vector<PassTime>> done(order_.size());
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t stage = 0; stage < order_.size(); ++stage) {
        while (next_[stage] < order_[stage].size() && CanBegin(stage)) {
          done[stage].push_back(Do(stage));
          moves = true;
        }
      }
    }
    std::vector<PassTime> passes;
    for (const std::vector<PassTime>& of_stage : done) passes.insert(passes.end(), of_stage.begin(), of_stage.end());
    return passes;
  }

 private:
  bool IsFor(const StageMessage& message, size_t stage, const ir::Pass& pass) const {
    return message.to == static_cast<int>(stage) && message.kind == pass.kind;
  }

  bool CanBegin(size_t stage) const {
    const ir::Pass& pass = order_[stage][next_[stage]];
    return std::all_of(task_.messages.begin(), task_.messages.end(), [&](const StageMessage& message) {
      return !IsFor(message, stage, pass) || ended_.count({message.from, pass.micro_batch, pass.kind}) > 0;
    });
  }

  PassTime Do(size_t stage) {
    const ir::Pass pass = order_[stage][next_[stage]++];
    Seconds begin = free_[stage];
    for (const StageMessage& message : task_.messages) {
      if (!IsFor(message, stage, pass)) continue;
      begin = std::max(begin, ended_.at({message.from, pass.micro_batch, pass.kind}) + message.seconds);
    }
    const int own = static_cast<int>(stage);
    const Seconds end = begin + task_.stages[stage].Of(pass.kind);
    free_[stage] = end;
    ended_[{own, pass.micro_batch, pass.kind}] = end;
    return {.stage = own, .micro_batch = pass.micro_batch, .kind = pass.kind, .begin = begin, .end = end};
  }

  const PassTask& task_;
  std::vector<std::vector<ir::Pass>> order_;  // By stage.
  std::vector<size_t> next_;                  // By stage: the next pass.
  std::vector<Seconds> free_;                 // By stage: when it can begin.
  std::map<std::tuple<int, int64_t, ir::PassKind>, Seconds> ended_;
};

Seconds EndOf(absl::Span<const PassTime> passes) {
  Seconds end{0};
  for (const PassTime& pass : passes) end = std::max(end, pass.end);
  return end;
}

}  // namespace

Seconds StageSeconds::Of(ir::PassKind kind) const {
  StageSeconds time = *this;
  return PartOf(time, kind);
}

std::vector<PassTime> RunPasses(const PassTask& task) { return Timeline(task).Run(); }

double BubbleOf(absl::Span<const PassTime> passes, int stages) {
  Seconds busy{0};
  for (const PassTime& pass : passes) busy += pass.end - pass.begin;
  const double available = EndOf(passes).value() * stages;
  return available > 0 ? 1 - busy.value() / available : 0;
}

PipelinePrediction PredictPipeline(absl::Span<const ir::StageProgram> stages, const Cluster& cluster, bool overlaps) {
  const ir::Program& first = stages.front().program;
  PassTask task{.schedule = first.pipeline->schedule, .micro_batches = ir::MicroBatches(first)};
  PipelinePrediction result;
  Prediction& whole = result.whole;
  for (const ir::StageProgram& stage : stages) {
    Prediction alone = Predict(stage.program, stage.memory.fusion, cluster, overlaps);
    task.stages.push_back(TimeOf(stage, cluster, alone));
    AddMessages(stage.program, cluster, task.messages, alone);
    whole.compute = std::max(whole.compute, alone.compute);
    whole.communication = std::max(whole.communication, alone.communication);
    whole.host_copies = std::max(whole.host_copies, alone.host_copies);
    whole.sent_bytes_per_rank = std::max(whole.sent_bytes_per_rank, alone.sent_bytes_per_rank);
  }
  result.passes = RunPasses(task);
  result.bubble = BubbleOf(result.passes, static_cast<int>(stages.size()));
  for (const PassTime& pass : result.passes) {
    whole.step = std::max(whole.step, pass.end + task.stages[static_cast<size_t>(pass.stage)].once);
  }
  result.stages = std::move(task.stages);
  return result;
}

}  // namespace cleave::search
