#include "ir/program/fuse/loop_batches.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/program/schedule/buffers.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/testing/sources.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

constexpr FuseOptions kBatched = {.loop_batches = LoopBatches::kAll};

// Layers of different widths, and a loss.
Graph TrainedLayers(const std::vector<int64_t>& widths, const TestOptimizer& optimizer) {
  GraphBuilder builder;
  OpId x = AddInput(builder, "x", {8, 3});
  for (size_t layer = 0; layer < widths.size(); ++layer) {
    const std::string name = absl::StrCat("h", layer);
    const OpId weight = AddParameter(builder, name + ".weight", {widths[layer], builder.type(x).shape[1]});
    const OpId bias = AddParameter(builder, name + ".bias", {widths[layer]});
    const OpId product = builder.Add(OpKind::kMatmul, {x, weight}, {{attribute::kTransposeB, true}}, name + ".matmul");
    x = builder.Add(OpKind::kTanh, {builder.Add(OpKind::kBiasAdd, {product, bias}, {}, name + ".add")}, {}, name);
  }
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {x}, {{attribute::kAxes, std::vector<int64_t>{}}}, "loss");
  absl::StatusOr<Graph> graph = Differentiate(std::move(builder).Build(), optimizer);
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

Program PartitionedOn(const Graph& graph, int devices = 1) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, Mesh::OfDevices(devices)));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

// The last step of each loop of each batch, as "a b | c d".
std::string BatchesText(const Program& program, const Fusion& fusion) {
  std::vector<std::string> batches;
  for (const FusedStage& stage : fusion.stages) {
    if (!std::holds_alternative<LoopBatch>(stage.action)) continue;
    batches.push_back(absl::StrJoin(LoopsOf(stage), " ", [&](std::string* text, const FusedLoop& loop) {
      absl::StrAppend(text, program.steps[static_cast<size_t>(loop.steps.back())].name);
    }));
  }
  return absl::StrJoin(batches, " | ");
}

ValueId ValueCalled(const Program& program, absl::string_view name) {
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    if (program.value(ValueId(i)).name == name) return ValueId(i);
  }
  ADD_FAILURE() << "no value " << name;
  return ValueId(0);
}

int64_t UpdateStages(const Fusion& fusion) {
  return std::count_if(fusion.stages.begin(), fusion.stages.end(),
                       [](const FusedStage& stage) { return stage.phase == Phase::kUpdate; });
}

TEST(LoopBatches, UpdatesOfAllSizesAreOne) {
  for (const auto kind : {TestOptimizer::Kind::kSgd, TestOptimizer::Kind::kMomentum, TestOptimizer::Kind::kAdam}) {
    for (const bool clips : {false, true}) {
      const Program program = PartitionedOn(TrainedLayers({5, 7, 2}, {.kind = kind, .clips = clips}));
      const Fusion fusion = Fuse(program, kBatched);
      EXPECT_EQ(BatchesText(program, fusion),
                "h0.weight.new h0.bias.new h1.weight.new h1.bias.new h2.weight.new h2.bias.new");
      // The squares of a gradient are part of the call that adds them up, and the calls of all of them are one.
      std::vector<size_t> calls;
      for (const FusedStage& stage : fusion.stages) {
        if (stage.phase == Phase::kUpdate && !JointCallsOf(stage).empty()) calls.push_back(JointCallsOf(stage).size());
      }
      EXPECT_EQ(calls, clips ? std::vector<size_t>{6} : std::vector<size_t>());
      // All parameters and states are updated in place.
      EXPECT_TRUE(PlanStorage(program, fusion).copies.empty());
    }
  }
}

// What weights of 8 bits are made with: a call and a kernel for those of all layers. Those of activations stand alone.
TEST(LoopBatches, WeightsOf8BitsAreMadeTogether) {
  const Program program = PartitionedOn(ApplyPrecision(TrainedLayers({16, 32, 16, 32, 5}, {}), Precision::kFp8).graph);
  const Fusion fusion = Fuse(program, kBatched);
  std::vector<std::string> calls;
  for (const FusedStage& stage : fusion.stages) {
    if (!std::holds_alternative<CallBatch>(stage.action)) continue;
    for (const int step : StepsOf(stage)) calls.push_back(program.steps[static_cast<size_t>(step)].name);
  }
  EXPECT_EQ(absl::StrJoin(calls, " "),
            "h1.weight.largest h1.weight.unit h2.weight.largest h2.weight.unit h3.weight.largest h3.weight.unit");
  EXPECT_TRUE(absl::StrContains(BatchesText(program, fusion), "h1.weight.f8e4m3 h2.weight.f8e4m3 h3.weight.f8e4m3"))
      << BatchesText(program, fusion);
  for (const char* const name : {"h1.weight.largest", "h0.largest"}) {
    EXPECT_TRUE(fusion.inside.contains(ValueCalled(program, name))) << name;
  }
}

// Copies of parameters in 16 bits are written with these; where steps make them, as with `zero = 1`, those of a layer
// are one kernel.
TEST(LoopBatches, CopiesAreOfUpdatesOrOfALayer) {
  const Graph graph = ApplyPrecision(TrainedLayers({5, 7}, {}), Precision::kBf16).graph;
  Program program = PartitionedOn(graph);
  const std::string updates = "h0.weight.bf16.new h0.bias.bf16.new h1.weight.bf16.new h1.bias.bf16.new";
  EXPECT_EQ(BatchesText(program, Fuse(program, kBatched)), updates);
  const auto is_new_copy = [](const std::string& name) { return absl::EndsWith(name, ".bf16.new"); };
  for (Step& step : program.steps) {
    if (auto* const compute = std::get_if<Compute>(&step.action)) compute->is_kept = false;
  }
  std::erase_if(program.steps, [&](const Step& step) { return is_new_copy(step.name); });
  std::erase_if(program.updates,
                [&](const ProgramUpdate& update) { return is_new_copy(program.value(update.value).name); });
  const std::string batches = BatchesText(program, Fuse(program, kBatched));
  EXPECT_EQ(batches.substr(0, batches.find(" |")), "x.bf16 h0.weight.bf16 h0.bias.bf16 h1.weight.bf16 h1.bias.bf16");
}

// What several loops of a batch read no result lies over, because they run at the same time.
TEST(LoopBatches, ResultsLieApartFromWhatOtherLoopsRead) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {4, 6});
  const OpId y = AddInput(builder, "y", {4, 6});
  const OpId soft = builder.Add(OpKind::kSoftmax, {x}, {}, "soft");
  const OpId a = builder.Add(OpKind::kMul, {soft, x}, {}, "a");
  const OpId other = builder.Add(OpKind::kSoftmax, {y}, {}, "other");
  const OpId b = builder.Add(OpKind::kMul, {soft, y}, {}, "b");
  const OpId c = builder.Add(OpKind::kSoftmax, {a}, {}, "c");
  builder.Add(OpKind::kMul, {c, other}, {}, "d");
  builder.Add(OpKind::kSoftmax, {b}, {}, "e");
  Program program = PartitionedOn(std::move(builder).Build());
  for (Step& step : program.steps) step.phase = IsSource(step) ? step.phase : Phase::kUpdate;
  const auto root_of_b = [&](const FuseOptions& options, std::string batches) {
    const Fusion fusion = Fuse(program, options);
    EXPECT_EQ(BatchesText(program, fusion), batches);
    const Storage storage = PlanStorage(program, fusion);
    EXPECT_EQ(DemandOf(program, fusion), PeakDemand(storage.stages, storage.requests).bytes);
    return program.value(*storage.root[ValueCalled(program, "b")]).name;
  };
  EXPECT_EQ(root_of_b({}, ""), "soft");
  EXPECT_EQ(root_of_b(kBatched, "a b"), "b");
}

// What is sent between updates stays where it is, and stages stand behind what they read.
TEST(LoopBatches, StagesStandBehindWhatTheyRead) {
  for (const int devices : {1, 2, 4}) {
    const Program program =
        PartitionedOn(TrainedLayers({4, 8, 12}, {.kind = TestOptimizer::Kind::kAdam, .clips = true}), devices);
    const Fusion one_by_one = Fuse(program);
    const Fusion fusion = Fuse(program, kBatched);
    EXPECT_LT(UpdateStages(fusion), UpdateStages(one_by_one));
    std::vector<int> steps, sent, sent_before;
    for (size_t i = 0; i < fusion.stages.size(); ++i) {
      for (const int step : StepsOf(fusion.stages[i])) {
        steps.push_back(step);
        if (CommunicationOf(program, program.steps[static_cast<size_t>(step)]) != nullptr) sent.push_back(step);
        for (const ValueId value : Reads(program.steps[static_cast<size_t>(step)])) {
          EXPECT_LE(fusion.written_by[value], static_cast<int>(i));
        }
        for (const ValueId value : Writes(program.steps[static_cast<size_t>(step)])) {
          EXPECT_EQ(fusion.written_by[value], static_cast<int>(i));
        }
      }
    }
    for (const FusedStage& stage : one_by_one.stages) {
      const int step = StepsOf(stage).front();
      if (CommunicationOf(program, program.steps[static_cast<size_t>(step)]) != nullptr) sent_before.push_back(step);
    }
    EXPECT_EQ(sent, sent_before);
    std::sort(steps.begin(), steps.end());
    EXPECT_EQ(std::unique(steps.begin(), steps.end()), steps.end());
  }
}

}  // namespace
}  // namespace cleave::ir
