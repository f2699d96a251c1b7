// Reading guide: TimeOf adds up what a stage does alone, MessagesOf says what it waits for, and Timeline runs the
// passes of all stages, each as soon as the stage is free and what it receives has arrived.
#include "search/cost/pipeline.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/program/fuse/fuse.h"
#include "ir/sharding/stages/stages.h"
#include "search/cost/time.h"

namespace cleave::search {
namespace {

// What a pass of one stage sends to another: the time that it is under way.
struct Messages {
  std::map<std::tuple<int, int, bool>, Seconds> seconds;  // By sender, receiver, and whether in the backward pass.
};

Bytes LocalBytes(const ir::Program& program, ir::ValueId value) {
  return ir::ElementSize(program.value(value).type.dtype) * ir::ElementCount(ir::LargestLocalShape(program, value));
}

bool IsTimed(const ir::Step& step) { return step.phase != ir::Phase::kMetric; }

void AddMessages(const ir::Program& program, const Cluster& cluster, Messages& messages, Prediction& prediction) {
  for (const ir::Step& step : program.steps) {
    const ir::Send* send = std::get_if<ir::Send>(&step.action);
    if (send == nullptr || !IsTimed(step)) continue;
    const Bytes bytes = LocalBytes(program, send->input);
    const Seconds seconds =
        CollectiveSeconds(cluster, program.mesh, ir::CollectiveKind::kSendReceive, {program.pipeline->axis}, bytes);
    const auto runs = static_cast<double>(ir::RunsOf(program, step));
    prediction.communication += seconds * runs;
    prediction.sent_bytes_per_rank += static_cast<double>(bytes.value()) * runs;
    if (step.repeat != ir::Repeat::kEach) continue;
    messages.seconds[{*program.stage, send->to, step.phase == ir::Phase::kBackward}] += seconds;
  }
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
    Seconds& part = is_once ? time.once : fused.phase == ir::Phase::kBackward ? time.backward : time.forward;
    part += times[i] * (is_once ? share : share / micro_batches);
  }
  return time;
}

class Timeline {
 public:
  Timeline(absl::Span<const ir::StageProgram> stages, const std::vector<StageSeconds>& times, const Messages& messages)
      : stages_(stages), times_(times), messages_(messages), next_(stages.size(), 0), free_(stages.size(), Seconds(0)) {
    for (size_t stage = 0; stage < stages.size(); ++stage) order_.push_back(OrderOf(stages[stage].program));
  }

  // In the order of the schedule no stage waits for ever (ir/proof/check).
  std::vector<PassTime> Run() {
    std::vector<std::vector<PassTime>> done(stages_.size());
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t stage = 0; stage < stages_.size(); ++stage) {
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
  struct Pass {
    int64_t micro_batch = 0;
    bool is_backward = false;
  };

  static std::vector<Pass> OrderOf(const ir::Program& program) {
    const int64_t count = ir::MicroBatches(program);
    const int64_t ahead = ir::MicroBatchesUnderWay(program) - 1;
    std::vector<Pass> order;
    for (int64_t turn = 0; turn < count + ahead; ++turn) {
      if (turn < count) order.push_back({turn, false});
      if (turn >= ahead) order.push_back({turn - ahead, true});
    }
    return order;
  }

  // Calls `visit` with each stage that sends to this one in such a pass, and how long that takes.
  template <typename Visit>
  void ForEachSender(size_t stage, bool is_backward, const Visit& visit) const {
    for (const auto& [key, seconds] : messages_.seconds) {
      const auto& [from, to, backward] = key;
      if (to == static_cast<int>(stage) && backward == is_backward) visit(from, seconds);
    }
  }

  bool CanBegin(size_t stage) const {
    const Pass& pass = order_[stage][next_[stage]];
    bool can = true;
    ForEachSender(stage, pass.is_backward, [&](int from, Seconds) {
      can = can && ended_.count({from, pass.micro_batch, pass.is_backward}) > 0;
    });
    return can;
  }

  PassTime Do(size_t stage) {
    const Pass pass = order_[stage][next_[stage]++];
    Seconds begin = free_[stage];
    ForEachSender(stage, pass.is_backward, [&](int from, Seconds seconds) {
      begin = std::max(begin, ended_.at({from, pass.micro_batch, pass.is_backward}) + seconds);
    });
    const Seconds end = begin + (pass.is_backward ? times_[stage].backward : times_[stage].forward);
    free_[stage] = end;
    ended_[{static_cast<int>(stage), pass.micro_batch, pass.is_backward}] = end;
    return {.stage = static_cast<int>(stage),
            .micro_batch = pass.micro_batch,
            .is_backward = pass.is_backward,
            .begin = begin,
            .end = end};
  }

  absl::Span<const ir::StageProgram> stages_;
  const std::vector<StageSeconds>& times_;
  const Messages& messages_;
  std::vector<std::vector<Pass>> order_;  // By stage.
  std::vector<size_t> next_;              // By stage: the next pass.
  std::vector<Seconds> free_;             // By stage: when it can begin.
  std::map<std::tuple<int, int64_t, bool>, Seconds> ended_;
};

}  // namespace

PipelinePrediction PredictPipeline(absl::Span<const ir::StageProgram> stages, const Cluster& cluster, bool overlaps) {
  PipelinePrediction result;
  Messages messages;
  Prediction& whole = result.whole;
  for (const ir::StageProgram& stage : stages) {
    Prediction alone = Predict(stage.program, stage.memory.fusion, cluster, overlaps);
    result.stages.push_back(TimeOf(stage, cluster, alone));
    AddMessages(stage.program, cluster, messages, alone);
    whole.compute = std::max(whole.compute, alone.compute);
    whole.communication = std::max(whole.communication, alone.communication);
    whole.host_copies = std::max(whole.host_copies, alone.host_copies);
    whole.sent_bytes_per_rank = std::max(whole.sent_bytes_per_rank, alone.sent_bytes_per_rank);
  }
  result.passes = Timeline(stages, result.stages, messages).Run();
  Seconds end{0}, busy{0};
  for (const PassTime& pass : result.passes) {
    end = std::max(end, pass.end);
    busy += pass.end - pass.begin;
    const Seconds once = result.stages[static_cast<size_t>(pass.stage)].once;
    whole.step = std::max(whole.step, pass.end + once);
  }
  const double available = end.value() * static_cast<double>(stages.size());
  result.bubble = available > 0 ? 1 - busy.value() / available : 0;
  return result;
}

}  // namespace cleave::search
