#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/testing/checked_programs.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

TEST(RecomputeTest, AChainIsComputedAgainBeforeItsFirstReader) {
  const Graph graph = TestMlp();
  Plan plan = DataParallelPlan(graph, MeshOf({2}));
  const std::string kept = StepNames(CheckedProgram(graph, plan), Phase::kForward);
  for (const char* op : {"h1", "h1.bias", "h1.relu"}) plan.ops[*graph.Find(op)].retention = Retention::kRecompute;
  const Program program = CheckedProgram(graph, plan);
  EXPECT_EQ(StepNames(program, Phase::kForward), kept);
  EXPECT_EQ(
      StepNames(program, Phase::kBackward),
      "loss.grad logits.grad h1.relu.grad h1.again h1.bias.again h1.relu.again w2.grad h1.bias.grad b1.grad w1.grad ");
}

TEST(RecomputeTest, SourcesAndBackwardOpsAreRefused) {
  const Graph graph = TestMlp();
  for (const char* op : {"w1", "image", "h1.bias.grad"}) {
    Plan plan = DataParallelPlan(graph, MeshOf({2}));
    plan.ops[*graph.Find(op)].retention = Retention::kRecompute;
    EXPECT_EQ(VerifyPlan(graph, plan),
              std::vector<std::string>{absl::StrCat("`", op, "` cannot be computed again in the backward pass")});
  }
}

// Any set of values may be made again, cut in any way, with or without micro-batches.
TEST(RecomputeTest, RandomPlansComputeWhatOneDeviceComputes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Graph graphs[] = {TestMlp(), TestTiedWeights(), TestAttention()};
  int proven = 0;
  int again = 0;
  for (int round = 0; round < 60; ++round) {
    const Graph& graph = graphs[round % 3];
    Plan plan = RandomPlan(graph, RandomMesh(1 + static_cast<int64_t>(random() % 6), random), random);
    for (const Op& op : graph.ops) {
      const uint64_t choice = random() % 4;
      if (choice == 0 && op.phase == Phase::kForward) plan.ops[op.id].retention = Retention::kRedistribute;
      if (choice >= 2 && CanBeRecomputed(graph, op)) plan.ops[op.id].retention = Retention::kRecompute;
    }
    plan.micro_batches = 1 + static_cast<int64_t>(random() % 3);
    const Distributed split = *Distribute(graph, plan);
    const std::optional<Program> program = ProvenProgram(graph, split);
    if (!program.has_value()) continue;
    ++proven;
    std::set<OpId> computed;
    for (const Step& step : program->steps) {
      const Compute* compute = std::get_if<Compute>(&step.action);
      if (compute != nullptr && !computed.insert(compute->op).second) ++again;
    }
  }
  EXPECT_GT(proven, 40);
  EXPECT_GT(again, 100);
}

}  // namespace
}  // namespace cleave::ir
