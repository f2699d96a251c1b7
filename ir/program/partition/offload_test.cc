#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/program/text.h"
#include "ir/testing/checked_programs.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

Program OffloadedProgramOf(const Graph& graph, const Plan& plan) {
  Program program = CheckedProgram(graph, plan);
  const absl::StatusOr<Program> parsed = ParseProgram(ProgramText(program, 0));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, program);
  return program;
}

TEST(OffloadTest, AValueGoesOutBehindItsLastReaderAndComesBackInFrontOfItsFirst) {
  const Graph graph = TestMlp();
  Plan plan = DataParallelPlan(graph, MeshOf({2}));
  for (const char* op : {"h1", "h1.bias", "h1.relu"}) plan.ops[*graph.Find(op)].retention = Retention::kOffload;
  const Program program = OffloadedProgramOf(graph, plan);
  // The backward pass does not read the product and its sum with the bias, so they do not go out.
  EXPECT_EQ(StepNames(program, Phase::kForward),
            "image label w1 b1 w2 h1 h1.bias h1.relu logits h1.relu.out loss loss.all_reduce ");
  EXPECT_EQ(StepNames(program, Phase::kBackward),
            "loss.grad logits.grad h1.relu.grad h1.relu.back w2.grad h1.bias.grad b1.grad w1.grad ");
}

TEST(OffloadTest, OtherLayoutsComeBackAsTheyWent) {
  const Graph graph = TestMlp();
  std::mt19937_64 random(7);
  int copies = 0;
  for (int round = 0; round < 20; ++round) {
    Plan plan = RandomPlan(graph, RandomMesh(4, random), random);
    Program kept = *Partition(graph, plan);
    for (const Op& op : graph.ops) {
      if (CanBeRecomputed(graph, op)) plan.ops[op.id].retention = Retention::kOffload;
    }
    const Program program = OffloadedProgramOf(graph, plan);
    const auto collectives = [](const Program& of) {
      return std::count_if(of.steps.begin(), of.steps.end(),
                           [](const Step& step) { return std::holds_alternative<Collective>(step.action); });
    };
    EXPECT_EQ(collectives(program), collectives(kept));
    copies += static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(), IsCopyOut));
  }
  EXPECT_GT(copies, 40);
}

TEST(OffloadTest, SourcesAndBackwardOpsAreRefused) {
  const Graph graph = TestMlp();
  for (const char* op : {"w1", "image", "h1.bias.grad"}) {
    Plan plan = DataParallelPlan(graph, MeshOf({2}));
    plan.ops[*graph.Find(op)].retention = Retention::kOffload;
    EXPECT_EQ(VerifyPlan(graph, plan),
              std::vector<std::string>{absl::StrCat("`", op, "` cannot wait in the host's memory")});
  }
}

// Any set of values may wait on the host or be made again, cut in any way, with or without micro-batches.
TEST(OffloadTest, RandomPlansComputeWhatOneDeviceComputes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Graph graphs[] = {TestMlp(), TestTiedWeights(), TestAttention()};
  int proven = 0;
  int64_t copies = 0;
  for (int round = 0; round < 60; ++round) {
    const Graph& graph = graphs[round % 3];
    Plan plan = RandomPlan(graph, RandomMesh(1 + static_cast<int64_t>(random() % 6), random), random);
    for (const Op& op : graph.ops) {
      const uint64_t choice = random() % 5;
      if (choice == 0 && op.phase == Phase::kForward) plan.ops[op.id].retention = Retention::kRedistribute;
      if (choice < 2 || !CanBeRecomputed(graph, op)) continue;
      plan.ops[op.id].retention = choice == 2 ? Retention::kRecompute : Retention::kOffload;
    }
    plan.micro_batches = 1 + static_cast<int64_t>(random() % 3);
    const Distributed split = *Distribute(graph, plan);
    const std::optional<Program> program = ProvenProgram(graph, split);
    if (!program.has_value()) continue;
    ++proven;
    copies += std::count_if(program->steps.begin(), program->steps.end(), IsCopyOut);
  }
  EXPECT_GT(proven, 40);
  EXPECT_GT(copies, 100);
}

}  // namespace
}  // namespace cleave::ir
