#include "search/price/cost/pipeline.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ir/program/partition/part_program.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/plans.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

constexpr ir::PipelineSchedule kOneByOne = ir::PipelineSchedule::kOneForwardOneBackward;
constexpr ir::PipelineSchedule kZeroBubble = ir::PipelineSchedule::kZeroBubble;
constexpr ir::PipelineSchedule kSchedules[] = {ir::PipelineSchedule::kGPipe, kOneByOne, kZeroBubble};

// Each stage sends to the next one and back to the one before.
PassTask Chain(ir::PipelineSchedule schedule, int stages, int64_t micro_batches, const StageSeconds& times) {
  PassTask task{.schedule = schedule, .micro_batches = micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    task.stages.push_back(times);
    if (stage + 1 < stages) task.messages.push_back({.from = stage, .to = stage + 1});
    if (stage > 0) task.messages.push_back({.from = stage, .to = stage - 1, .kind = ir::PassKind::kBackward});
  }
  return task;
}

// Relative to the work of a stage it is (p - 1) / m.
TEST(PipelineTest, BubblesOfEqualStagesAreThoseOfTheFormula) {
  for (const ir::PipelineSchedule schedule : kSchedules) {
    for (int stages = 1; stages <= 8; ++stages) {
      for (const int64_t micro_batches : {1, 2, 3, 8, 13, 32}) {
        const StageSeconds times{.forward = Seconds(1), .backward = Seconds(2)};
        const auto passes = RunPasses(Chain(schedule, stages, micro_batches, times));
        ASSERT_EQ(passes.size(), static_cast<size_t>(2 * micro_batches * stages));
        const double p = stages, m = static_cast<double>(micro_batches);
        const double bubble = BubbleOf(passes, stages);
        EXPECT_NEAR(bubble / (1 - bubble), (p - 1) / m, 1e-9)
            << ir::PipelineScheduleName(schedule) << ", " << stages << " stages, " << micro_batches << " micro-batches";
      }
    }
  }
}

// Relative to the work of the ranks it is (p - 1) / (v m).
TEST(PipelineTest, SeveralStagesOnEachRankDivideTheBubble) {
  for (int parts = 1; parts <= 6; ++parts) {
    for (const int stages : {2, 3, 5}) {
      for (const int64_t groups : {1, 2, 5, 16}) {
        const int64_t micro_batches = groups * parts;
        const ir::PipelineSchedule schedule(ir::PipelineSchedule::kInterleaved, stages);
        const auto passes =
            RunPasses(Chain(schedule, parts * stages, micro_batches, {.forward = Seconds(1), .backward = Seconds(2)}));
        ASSERT_EQ(passes.size(), static_cast<size_t>(2 * micro_batches * parts * stages));
        const double bubble = BubbleOf(passes, parts);
        EXPECT_NEAR(bubble / (1 - bubble), (parts - 1.0) / static_cast<double>(stages * micro_batches), 1e-9)
            << parts << " ranks with " << stages << " stages each, " << micro_batches << " micro-batches";
      }
    }
  }
}

// Moves the gradients of weights of the first stage, for which no other waits, into its backward pass.
void JoinPassesOfFirst(PassTask& task) {
  StageSeconds& first = task.stages.front();
  first.backward += std::exchange(first.weights, Seconds(0));
}

double EndOf(const std::vector<PassTime>& passes) {
  double end = 0;
  for (const PassTime& pass : passes) end = std::max(end, pass.end.value());
  return end;
}

// Of what the stages work, p - 1 times F + B - W is left. Nothing more is under way than in the first stage.
TEST(PipelineTest, GradientsOfWeightsFillTheBubble) {
  for (int stages = 1; stages <= 8; ++stages) {
    for (const int64_t micro_batches : {stages, stages + 1, 2 * stages, 32}) {
      for (const auto& [backward, weights] : {std::pair(1.0, 1.0), std::pair(1.25, 0.75), std::pair(2.0, 0.5)}) {
        SCOPED_TRACE(::testing::Message() << stages << " stages, " << micro_batches << " micro-batches, B " << backward
                                          << ", W " << weights);
        PassTask task = Chain(kZeroBubble, stages, micro_batches,
                              {.forward = Seconds(1), .backward = Seconds(backward), .weights = Seconds(weights)});
        JoinPassesOfFirst(task);
        const auto passes = RunPasses(task);
        const double p = stages, m = static_cast<double>(micro_batches);
        const double idle = (p - 1) * (1 + backward - weights);
        EXPECT_NEAR(EndOf(passes), m * (1 + backward + weights) + idle, 1e-9);
        const double bubble = BubbleOf(passes, stages);
        EXPECT_NEAR(bubble / (1 - bubble), idle / (m * (1 + backward + weights)), 1e-9);
        std::vector<int64_t> under_way(static_cast<size_t>(stages), 0);
        for (const PassTime& pass : passes) {
          const ir::PassKind last = pass.stage == 0 ? ir::PassKind::kBackward : ir::PassKind::kWeights;
          int64_t& own = under_way[static_cast<size_t>(pass.stage)];
          own += pass.kind == ir::PassKind::kForward ? 1 : 0;
          EXPECT_LE(own, stages);
          own -= pass.kind == last ? 1 : 0;
        }
      }
    }
  }
}

// Ranks at work: they compute, and they receive and send as the runtime does, with boxes for each message, from which
// earlier ones must have been taken.
class Worker {
 public:
  // By sender, receiver, pass and micro-batch: when it was sent and when it was taken.
  using Mail = std::map<std::tuple<int, int, ir::PassKind, int64_t>, double>;

  Worker(const ir::Timetable& timetable, bool has_one_box, std::vector<ir::Pass> passes)
      : timetable_(timetable), has_one_box_(has_one_box), passes_(std::move(passes)) {}

  // Goes on as far as it can. Whether it got anywhere.
  bool Work(const PassTask& task, Mail& sent, Mail& taken) {
    bool moves = false;
    while (!passes_.empty() && Do(task, passes_.front(), sent, taken)) {
      passes_.erase(passes_.begin());
      moves = true;
    }
    return moves;
  }

  double now() const { return now_; }
  bool is_done() const { return passes_.empty(); }

 private:
  bool Do(const PassTask& task, const ir::Pass& pass, Mail& sent, Mail& taken) {
    double begin = now_;
    for (const StageMessage& message : task.messages) {
      const std::tuple key(message.from, message.to, pass.kind, pass.micro_batch);
      if (message.kind != pass.kind) continue;
      if (message.to == pass.stage) {
        if (sent.count(key) == 0) return false;
        taken[key] = begin = std::max(begin, sent[key] + message.seconds.value());
      }
    }
    double end = begin + task.stages[static_cast<size_t>(pass.stage)].Of(pass.kind).value();
    for (const StageMessage& message : task.messages) {
      if (message.kind != pass.kind || message.from != pass.stage) continue;
      const int first = std::min(message.from, message.to);
      const int64_t boxes = has_one_box_ ? 1
                                         : timetable_.MicroBatchesBetween({first, ir::PassKind::kForward},
                                                                          {first, ir::PassKind::kBackward});
      const std::tuple before(pass.stage, message.to, pass.kind, pass.micro_batch - boxes);
      if (pass.micro_batch >= boxes && taken.count(before) == 0) return false;
      if (pass.micro_batch >= boxes) end = std::max(end, taken[before]);
      sent[{pass.stage, message.to, pass.kind, pass.micro_batch}] = end;
    }
    now_ = end;
    return true;
  }

  const ir::Timetable timetable_;
  const bool has_one_box_;
  std::vector<ir::Pass> passes_;
  double now_ = 0;
};

// The order of a stage as Megatron's authors write it: passes that warm the pipeline up, then one forward and one
// backward pass in turn, then the backward passes that are left.
std::vector<ir::Pass> WarmUpAndTurns(int stages, int stage, int64_t micro_batches) {
  const int64_t warm_up = std::min<int64_t>(stages - stage - 1, micro_batches);
  std::vector<ir::Pass> passes;
  int64_t forward = 0, backward = 0;
  while (forward < warm_up) passes.push_back({.stage = stage, .micro_batch = forward++});
  while (backward < micro_batches) {
    if (forward < micro_batches) passes.push_back({.stage = stage, .micro_batch = forward++});
    passes.push_back({.stage = stage, .micro_batch = backward++, .kind = ir::PassKind::kBackward});
  }
  return passes;
}

// Passes of ranks with several stages, as Megatron's authors count them: those that warm the pipeline up are 2 for each
// of the ranks behind, and those of all stages but the last for as many micro-batches as there are ranks.
std::vector<ir::Pass> WarmUpAndTurnsOfSeveral(int parts, int part, int64_t stages, int64_t micro_batches) {
  const int64_t all = micro_batches * stages;
  const int64_t warm_up = std::min(all, 2 * int64_t{parts - part - 1} + (stages - 1) * parts);
  std::vector<ir::Pass> forward, backward, passes;
  for (int64_t first = 0; first < micro_batches; first += parts) {
    for (int64_t own = 0; own < stages; ++own) {
      for (int64_t i = 0; i < parts; ++i) {
        forward.push_back({.stage = part + static_cast<int>(own) * parts, .micro_batch = first + i});
        backward.push_back({.stage = part + static_cast<int>(stages - 1 - own) * parts,
                            .micro_batch = first + i,
                            .kind = ir::PassKind::kBackward});
      }
    }
  }
  for (int64_t i = 0; i < all + warm_up; ++i) {
    if (i < all) passes.push_back(forward[static_cast<size_t>(i)]);
    if (i >= warm_up) passes.push_back(backward[static_cast<size_t>(i - warm_up)]);
  }
  return passes;
}

// What is predicted is what uneven stages do that send each other messages.
TEST(PipelineTest, UnevenStagesTakeAsLongAsInASimulation) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(0.5, 1.5);
  for (int round = 0; round < 300; ++round) {
    const int parts = 1 + static_cast<int>(random() % 6);
    const bool is_interleaved = round % 4 == 3;
    const int per_rank = is_interleaved ? 2 + static_cast<int>(random() % 3) : 1;
    const int stages = parts * per_rank;
    const int64_t micro_batches =
        is_interleaved ? parts * (1 + static_cast<int64_t>(random() % 5)) : 1 + static_cast<int64_t>(random() % 20);
    const ir::PipelineSchedule schedule =
        is_interleaved ? ir::PipelineSchedule(ir::PipelineSchedule::kInterleaved, per_rank) : kSchedules[round % 4];
    PassTask task = Chain(schedule, stages, micro_batches, {});
    for (StageSeconds& stage : task.stages) {
      stage = {.forward = Seconds(number(random)), .backward = Seconds(number(random))};
      if (schedule == kZeroBubble) stage.weights = Seconds(number(random));
    }
    JoinPassesOfFirst(task);
    for (StageMessage& message : task.messages) message.seconds = Seconds(number(random) / 4);
    std::vector<Worker> workers;
    const ir::Timetable timetable(schedule, parts, micro_batches);
    for (int part = 0; part < parts; ++part) {
      std::vector<ir::Pass> passes = timetable.PassesOf(part);
      if (schedule == kOneByOne) passes = WarmUpAndTurns(parts, part, micro_batches);
      if (is_interleaved) passes = WarmUpAndTurnsOfSeveral(parts, part, per_rank, micro_batches);
      workers.emplace_back(timetable, !is_interleaved, std::move(passes));
    }
    Worker::Mail sent, taken;
    for (bool moves = true; moves;) {
      moves = false;
      for (Worker& worker : workers) moves = worker.Work(task, sent, taken) || moves;
    }
    double end = 0;
    for (const Worker& worker : workers) {
      EXPECT_TRUE(worker.is_done());
      end = std::max(end, worker.now());
    }
    EXPECT_NEAR(EndOf(RunPasses(task)), end, 1e-9 * end) << ir::PipelineScheduleName(task.schedule) << ", " << stages
                                                         << " stages, " << micro_batches << " micro-batches";
  }
}

// The slowest stage sets the pace: no step is shorter than its passes and the way to it and back.
TEST(PipelineTest, UnevenStagesTakeAtLeastWhatTheSlowestTakes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> number(0.1, 1);
  for (int round = 0; round < 200; ++round) {
    const int stages = 1 + static_cast<int>(random() % 6);
    const int64_t micro_batches = 1 + static_cast<int64_t>(random() % 12);
    PassTask task = Chain(kSchedules[round % 2], stages, micro_batches, {});
    double way = 0;
    for (StageSeconds& stage : task.stages) {
      stage = {.forward = Seconds(number(random)), .backward = Seconds(number(random))};
      way += (stage.forward + stage.backward).value();
    }
    const double end = EndOf(RunPasses(task));
    double least = 0;
    for (const StageSeconds& stage : task.stages) {
      const double own = (stage.forward + stage.backward).value();
      least = std::max(least, way + own * static_cast<double>(micro_batches - 1));
    }
    EXPECT_LE(end, least * 2);
    EXPECT_GE(end, way - 1e-9);
    if (task.schedule == ir::PipelineSchedule::kGPipe) continue;
    EXPECT_GE(end, least - way + (task.stages[0].forward + task.stages[0].backward).value() - 1e-9);
  }
}

// Whatever the model and the micro-batches, all passes take place.
TEST(PipelineTest, EveryPassOfAProgramIsTimed) {
  const Cluster cluster = CpuCluster(2);
  const ir::Graph graph = testing::Mlp(8, {4, 4, 4, 1});
  std::vector<ir::OpId> forward;
  for (const ir::Op& op : graph.ops) {
    if (op.phase == ir::Phase::kForward && !op.inputs.empty()) forward.push_back(op.id);
  }
  for (const int64_t micro_batches : {1, 4}) {
    ir::Plan plan =
        *ir::WithStages(ir::DataParallelPlan(graph, ir::Mesh()), {.name = "stage", .size = 2, .link = "host"},
                        kOneByOne, ir::StagesOf(graph, {forward[forward.size() / 2]}));
    plan.micro_batches = micro_batches;
    const ir::Program program = *ir::Partition(graph, plan);
    std::vector<ir::PartProgram> stages;
    for (ir::Program& stage : ir::ProgramsOfParts(program)) {
      ir::MemoryPlan memory = ir::PlanMemory(graph, stage);
      stages.push_back({.program = std::move(stage), .memory = std::move(memory)});
    }
    const PipelinePrediction predicted = PredictPipeline(stages, cluster, /*overlaps=*/false);
    EXPECT_EQ(predicted.passes.size(), static_cast<size_t>(2 * 2 * micro_batches));
    EXPECT_GT(predicted.whole.step, predicted.stages[0].forward + predicted.stages[1].backward);
    EXPECT_GT(predicted.bubble, 0);
  }
}

TEST(PipelineTest, MessagesAreWaitedFor) {
  PassTask task = Chain(kOneByOne, 2, 1, {.forward = Seconds(1), .backward = Seconds(1)});
  for (StageMessage& message : task.messages) message.seconds = Seconds(10);
  const auto passes = RunPasses(task);
  EXPECT_EQ(passes.back().begin, Seconds(12));           // The backward pass of stage 1, behind its forward pass.
  EXPECT_EQ(passes[1].begin, Seconds(1 + 10 + 2 + 10));  // That of stage 0.
}

}  // namespace
}  // namespace cleave::search
