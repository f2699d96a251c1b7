// Reading guide: AddTimes adds up what ranks do alone, AddMessages what they send, and Timeline runs the passes of all.
#include "search/price/cost/pipeline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check/check.h"
#include "ir/program/fuse/fuse.h"
#include "ir/sharding/stages/stages.h"
#include "search/price/cost/time.h"

namespace cleave::search {
namespace {

bool IsTimed(const ir::Step& step) { return step.phase != ir::Phase::kMetric; }

// `costs`: of the program by itself, which gets what its sends take.
void AddMessages(const ir::PartProgram& part, const Cluster& cluster, std::vector<StageMessage>& messages,
                 StepCosts& costs) {
  const ir::Program& program = part.program;
  const ir::Fusion& fusion = part.memory.fusion;
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    const ir::Step& step = program.steps[static_cast<size_t>(ir::StepsOf(fusion.stages[i]).front())];
    const ir::Send* send = std::get_if<ir::Send>(&step.action);
    if (send == nullptr || !IsTimed(step)) continue;
    const Bytes bytes = ir::LargestLocalBytes(program, send->input);
    StageCost& cost = costs.stages[i];
    cost.seconds =
        CollectiveSeconds(cluster, program.mesh, ir::CollectiveKind::kSendReceive, {program.pipeline->axis}, bytes);
    cost.sent = static_cast<double>(bytes.value());
    cost.limit = Limit::kLink;
    costs.sum.communication += cost.AllSeconds();
    costs.sum.sent_bytes_per_rank += cost.sent * static_cast<double>(cost.runs);
    // No pass waits for what is sent once in a step, nor for updates, such as a norm of all gradients. Without
    // micro-batches the loss goes back at the end of the forward pass, when nothing waits for it any more.
    if (step.repeat != ir::Repeat::kEach || step.phase == ir::Phase::kUpdate) continue;
    const bool is_backward = step.phase == ir::Phase::kBackward;
    const int from = *ir::StageOf(program, step);
    if (is_backward != (send->to < from)) continue;
    messages.push_back({.from = from, .to = send->to, .kind = ir::PassOf(step.phase), .seconds = cost.seconds});
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

// Adds the times of the stages of one group of ranks, and returns the time before and after the passes. `alone`: the
// costs of the group's program by itself, whose overlap is taken to be equal in all passes.
Seconds AddTimes(const ir::PartProgram& part, const StepCosts& alone, std::vector<StageSeconds>& of_stages) {
  const ir::Program& program = part.program;
  const ir::Fusion& fusion = part.memory.fusion;
  const double share = alone.sum.ShareOfStages();
  const auto micro_batches = static_cast<double>(ir::MicroBatches(program));
  Seconds once{0};
  const auto add = [&](const std::optional<ir::StagePass>& pass, Seconds all) {
    if (pass.has_value()) {
      PartOf(of_stages[static_cast<size_t>(pass->stage)], pass->kind) += all * (share / micro_batches);
    } else {
      once += all * share;
    }
  };
  for (const InputCost& input : alone.inputs) {
    add(ir::PassIn(program, program.steps[static_cast<size_t>(input.step)]), input.cost.AllSeconds());
  }
  for (size_t i = 0; i < fusion.stages.size(); ++i) {
    if (fusion.stages[i].phase != ir::Phase::kMetric) add(fusion.stages[i].pass, alone.stages[i].AllSeconds());
  }
  return once;
}

class Timeline {
 public:
  explicit Timeline(const PassTask& task)
      : task_(task),
        timetable_(task.schedule, PartsOf(task), task.micro_batches),
        next_(static_cast<size_t>(timetable_.parts()), 0),
        free_(static_cast<size_t>(timetable_.parts()), Seconds(0)) {
    for (int part = 0; part < timetable_.parts(); ++part) {
      std::vector<ir::Pass>& passes = order_.emplace_back(timetable_.PassesOf(part));
      std::erase_if(passes, [&](const ir::Pass& pass) {
        return pass.kind == ir::PassKind::kWeights && SecondsOf(pass) <= Seconds(0);
      });
    }
  }

  // In the order of the schedule no rank waits for ever (ir/proof/check).
  std::vector<PassTime> Run() {
    std::vector<std::vector<PassTime>> done(order_.size());
    for (bool moves = true; moves;) {
      moves = false;
      for (size_t part = 0; part < order_.size(); ++part) {
        while (next_[part] < order_[part].size() && CanBegin(order_[part][next_[part]])) {
          done[part].push_back(Do(part));
          moves = true;
        }
      }
    }
    std::vector<PassTime> passes;
    for (const std::vector<PassTime>& of_part : done) passes.insert(passes.end(), of_part.begin(), of_part.end());
    return passes;
  }

 private:
  Seconds SecondsOf(const ir::Pass& pass) const { return task_.stages[static_cast<size_t>(pass.stage)].Of(pass.kind); }

  static bool IsFor(const StageMessage& message, const ir::Pass& pass) {
    return message.to == pass.stage && message.kind == pass.kind;
  }

  bool CanBegin(const ir::Pass& pass) const {
    return std::all_of(task_.messages.begin(), task_.messages.end(), [&](const StageMessage& message) {
      return !IsFor(message, pass) || ended_.count({message.from, pass.micro_batch, pass.kind}) > 0;
    });
  }

  PassTime Do(size_t part) {
    const ir::Pass pass = order_[part][next_[part]++];
    Seconds begin = free_[part];
    for (const StageMessage& message : task_.messages) {
      if (!IsFor(message, pass)) continue;
      begin = std::max(begin, ended_.at({message.from, pass.micro_batch, pass.kind}) + message.seconds);
    }
    const Seconds end = begin + SecondsOf(pass);
    free_[part] = end;
    ended_[{pass.stage, pass.micro_batch, pass.kind}] = end;
    return {.stage = pass.stage, .micro_batch = pass.micro_batch, .kind = pass.kind, .begin = begin, .end = end};
  }

  const PassTask& task_;
  const ir::Timetable timetable_;
  std::vector<std::vector<ir::Pass>> order_;  // By part of the ranks.
  std::vector<size_t> next_;                  // By part: the next pass.
  std::vector<Seconds> free_;                 // By part: when it can begin.
  std::map<std::tuple<int, int64_t, ir::PassKind>, Seconds> ended_;
};

}  // namespace

Seconds StageSeconds::Of(ir::PassKind kind) const {
  StageSeconds time = *this;
  return PartOf(time, kind);
}

int PartsOf(const PassTask& task) { return static_cast<int>(task.stages.size()) / task.schedule.stages_per_rank; }

std::vector<PassTime> RunPasses(const PassTask& task) { return Timeline(task).Run(); }

Seconds EndOf(absl::Span<const PassTime> passes, const std::vector<Seconds>& once) {
  Seconds end{0};
  for (const PassTime& pass : passes) {
    end = std::max(end, pass.end + once[static_cast<size_t>(pass.stage) % once.size()]);
  }
  return end;
}

double BubbleOf(absl::Span<const PassTime> passes, int parts) {
  Seconds busy{0};
  for (const PassTime& pass : passes) busy += pass.end - pass.begin;
  const double available = EndOf(passes, {Seconds(0)}).value() * parts;
  return available > 0 ? 1 - busy.value() / available : 0;
}

PipelinePrediction PredictPipeline(absl::Span<const ir::PartProgram> parts, const Cluster& cluster, bool overlaps) {
  const ir::Program& first = parts.front().program;
  PassTask task{.schedule = first.pipeline->schedule,
                .micro_batches = ir::MicroBatches(first),
                .stages = std::vector<StageSeconds>(static_cast<size_t>(ir::StageCount(first))),
                .messages = {}};
  PipelinePrediction result;
  Prediction& whole = result.whole;
  for (const ir::PartProgram& part : parts) {
    StepCosts& costs = result.parts.emplace_back(CostsOfStep(part.program, part.memory.fusion, cluster, overlaps));
    result.once.push_back(AddTimes(part, costs, task.stages));
    AddMessages(part, cluster, task.messages, costs);
    const Prediction& alone = costs.sum;
    whole.compute = std::max(whole.compute, alone.compute);
    whole.communication = std::max(whole.communication, alone.communication);
    whole.host_copies = std::max(whole.host_copies, alone.host_copies);
    whole.sent_bytes_per_rank = std::max(whole.sent_bytes_per_rank, alone.sent_bytes_per_rank);
  }
  result.passes = RunPasses(task);
  result.bubble = BubbleOf(result.passes, PartsOf(task));
  whole.step = EndOf(result.passes, result.once);
  result.stages = std::move(task.stages);
  return result;
}

}  // namespace cleave::search
