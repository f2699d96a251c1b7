#include "search/cost/pipeline.h"

#include <random>

#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/program/partition/stage_program.h"
#include "ir/testing/plans.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

constexpr ir::PipelineSchedule kSchedules[] = {ir::PipelineSchedule::kGPipe,
                                               ir::PipelineSchedule::kOneForwardOneBackward};

// Each stage sends to the next one and back to the one before.
PassTask Chain(ir::PipelineSchedule schedule, int stages, int64_t micro_batches, const StageSeconds& times) {
  PassTask task{.schedule = schedule, .micro_batches = micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    task.stages.push_back(times);
    if (stage + 1 < stages) task.messages.push_back({.from = stage, .to = stage + 1});
    if (stage > 0) task.messages.push_back({.from = stage, .to = stage - 1, .is_backward = true});
  }
  return task;
}

// Relative to the work of a stage it is (p - 1) / m.
TEST(PipelineTest, BubblesOfEqualStagesAreThoseOfTheFormula) {
  for (const ir::PipelineSchedule schedule : kSchedules) {
    for (int stages = 1; stages <= 8; ++stages) {
      for (const int64_t micro_batches : {1, 2, 3, 8, 13, 32}) {
        const StageSeconds times{.once = Seconds(0), .forward = Seconds(1), .backward = Seconds(2)};
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
      stage = {.once = Seconds(0), .forward = Seconds(number(random)), .backward = Seconds(number(random))};
      way += (stage.forward + stage.backward).value();
    }
    const auto passes = RunPasses(task);
    double end = 0;
    for (const PassTime& pass : passes) end = std::max(end, pass.end.value());
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
                        kSchedules[1], ir::StagesOf(graph, {forward[forward.size() / 2]}));
    plan.micro_batches = micro_batches;
    const ir::Program program = *ir::Partition(graph, plan);
    std::vector<ir::StageProgram> stages;
    for (ir::Program& stage : ir::ProgramsOfStages(program)) {
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
  PassTask task = Chain(kSchedules[1], 2, 1, {.once = Seconds(0), .forward = Seconds(1), .backward = Seconds(1)});
  for (StageMessage& message : task.messages) message.seconds = Seconds(10);
  const auto passes = RunPasses(task);
  EXPECT_EQ(passes.back().begin, Seconds(12));           // The backward pass of stage 1, behind its forward pass.
  EXPECT_EQ(passes[1].begin, Seconds(1 + 10 + 2 + 10));  // That of stage 0.
}

}  // namespace
}  // namespace cleave::search
