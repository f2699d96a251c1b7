#include <algorithm>
#include <string>

#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/memory/memory_over_step.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/program/memory/workspace.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

Program DataParallel(const Graph& graph, int devices) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, Mesh::OfDevices(devices)));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

Bytes BytesOfKind(const Graph& graph, OpKind kind) {
  Bytes bytes;
  for (const Op& op : graph.ops) {
    if (op.kind == kind) bytes += ElementSize(op.type.dtype) * ElementCount(op.type.shape);
  }
  return bytes;
}

TEST(Memory, TheSumIsWhatTheArenaAndTheWorkspaceTake) {
  for (const Graph& graph : {TestMlp(), TestTiedWeights(), TestAttention()}) {
    for (const int devices : {1, 2, 4}) {
      const Program program = DataParallel(graph, devices);
      const MemoryPrediction memory = PlanMemory(graph, program).use.prediction;
      EXPECT_EQ(memory.peak,
                memory.parameters + memory.gradients + memory.optimizer + memory.activations + memory.buffers);
      EXPECT_EQ(memory.peak, PlanStorage(program, Fuse(program)).buffers.total + WorkspaceOf(program, {}, {}));
      // Data parallel: every rank has all parameters and all of the optimizer's state.
      EXPECT_EQ(memory.parameters, BytesOfKind(graph, OpKind::kParameter));
      EXPECT_EQ(memory.optimizer, BytesOfKind(graph, OpKind::kState));
    }
  }
}

TEST(Memory, ACheckpointIsCopiedBesideTheValuesOrOnTheHost) {
  const Graph graph = TestMlp();
  const Program program = DataParallel(graph, 2);
  const MemoryPrediction none = PlanMemory(graph, program).use.prediction;
  EXPECT_EQ(none.checkpoint, Bytes(0));
  // Of small tensors one rank may write all.
  MemoryPrediction expected = none;
  expected.checkpoint = none.parameters + none.optimizer;
  expected.peak += expected.checkpoint;
  EXPECT_EQ(PlanMemory(graph, program, {}, CheckpointCopy::kBesideValues).use.prediction, expected);
  expected.peak = none.peak;
  expected.host += expected.checkpoint;
  EXPECT_EQ(PlanMemory(graph, program, {}, CheckpointCopy::kOnHost).use.prediction, expected);
  // What a file has already is not written.
  Graph in_file = graph;
  for (Op& op : in_file.ops) {
    if (op.kind == OpKind::kParameter) op.attributes.Set(attribute::kInParams, true);
  }
  EXPECT_EQ(PlanMemory(in_file, DataParallel(in_file, 2), {}, CheckpointCopy::kOnHost).use.prediction.checkpoint,
            none.optimizer);
}

TEST(Memory, MoreRanksHoldLessOfTheBatch) {
  const Graph graph = TestMlp();
  const Bytes one = PlanMemory(graph, DataParallel(graph, 1)).use.prediction.activations;
  const Bytes four = PlanMemory(graph, DataParallel(graph, 4)).use.prediction.activations;
  EXPECT_LT(four.value(), one.value() / 2);
}

// Copies of parameters that are kept count as parameters.
TEST(Memory, Bf16TakesTwoBytes) {
  for (const Graph& graph : {TestMlp(), TestAttention()}) {
    const Graph in_bf16 = ApplyPrecision(graph, Precision::kBf16).graph;
    for (const int devices : {1, 4}) {
      const MemoryPrediction before = PlanMemory(graph, DataParallel(graph, devices)).use.prediction;
      const Program program = DataParallel(in_bf16, devices);
      const MemoryPrediction after = PlanMemory(in_bf16, program).use.prediction;
      Bytes copies;
      for (const Step& step : program.steps) {
        const Compute* const compute = ComputeOf(step);
        if (compute != nullptr && compute->is_kept) copies += LargestLocalBytes(program, compute->output);
      }
      EXPECT_GT(copies, Bytes(0));
      EXPECT_EQ(after.parameters, before.parameters + copies);
      EXPECT_EQ(after.optimizer, before.optimizer);
      EXPECT_EQ(after.peak, PlanStorage(program, Fuse(program)).buffers.total + WorkspaceOf(program, {}, {}));
    }
  }
}

TEST(Memory, TensorsOfThePeakAreNamedLargestFirst) {
  const Graph graph = TestTiedWeights();
  const MemoryUse use = PlanMemory(graph, DataParallel(graph, 2)).use;
  ASSERT_FALSE(use.at_peak.empty());
  EXPECT_TRUE(std::is_sorted(use.at_peak.begin(), use.at_peak.end(),
                             [](const HeldTensor& a, const HeldTensor& b) { return a.size > b.size; }));
  const auto table =
      std::find_if(use.at_peak.begin(), use.at_peak.end(), [](const HeldTensor& t) { return t.name == "table"; });
  ASSERT_NE(table, use.at_peak.end());
  EXPECT_EQ(table->role, MemoryRole::kParameter);
  EXPECT_EQ(table->size, Bytes(9 * 8 * 4));
  Bytes held;
  for (const HeldTensor& tensor : use.at_peak) held += tensor.size;
  EXPECT_LE(use.waiting, held);
}

// What is held at each moment is planned and summed elsewhere: the most of it is the demand of the arena, and what is
// held then is the table of the peak.
TEST(Memory, OverAStepTheMostIsWhatIsHeldAtThePeak) {
  for (const Graph& graph : {TestMlp(), TestTiedWeights(), TestAttention()}) {
    for (const int devices : {1, 4}) {
      const Program program = DataParallel(graph, devices);
      const MemoryPlan plan = PlanMemory(graph, program);
      const std::vector<HeldBytes> moments = MemoryOverStep(graph, program, plan);
      ASSERT_EQ(moments.size(), plan.storage.stages.size());
      const auto most = std::max_element(moments.begin(), moments.end(),
                                         [](const HeldBytes& a, const HeldBytes& b) { return a.sum() < b.sum(); });
      HeldBytes at_peak;
      for (const HeldTensor& tensor : plan.use.at_peak)
        at_peak.by_role[static_cast<size_t>(tensor.role)] += tensor.size;
      EXPECT_EQ(most->by_role, at_peak.by_role);
      EXPECT_EQ(moments.front().stage, 0u);
      EXPECT_EQ(moments.back().stage, plan.fusion.stages.size());
      for (const HeldBytes& moment : moments) {
        EXPECT_EQ(moment.by_role[0], plan.use.prediction.parameters);
        for (const Bytes bytes : moment.by_role) EXPECT_GE(bytes, Bytes(0));
      }
    }
  }
}

}  // namespace
}  // namespace cleave::ir
