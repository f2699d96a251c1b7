#include "ir/sharding/stages/stages.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/part_program.h"
#include "ir/program/text.h"
#include "ir/proof/check/check.h"
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

constexpr PipelineSchedule kOneByOne = PipelineSchedule::kOneForwardOneBackward;

Plan Staged(const Graph& graph, const Plan& plan, const std::vector<OpId>& first, PipelineSchedule schedule = kOneByOne,
            int64_t micro_batches = 1) {
  const MeshAxis axis{.name = std::string(kStageAxis),
                      .size = (static_cast<int64_t>(first.size()) + 1) / schedule.stages_per_rank};
  absl::StatusOr<Plan> staged = WithStages(plan, axis, schedule, StagesOf(graph, first));
  EXPECT_TRUE(staged.ok()) << staged.status();
  staged->micro_batches = micro_batches;
  EXPECT_EQ(VerifyPlan(graph, *staged), std::vector<std::string>());
  return *std::move(staged);
}

TEST(StagesTest, EachStageRunsItsOwnSteps) {
  const Graph graph = TestMlp();
  const Plan plan = Staged(graph, DataParallelPlan(graph, MeshOf({2})), {*graph.Find("logits")});
  const Program program = CheckedProgram(graph, plan);
  const std::vector<Program> stages = ProgramsOfParts(program);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(StepNames(stages[0], Phase::kForward),
            "image label w1 b1 h1 h1.bias h1.relu h1.relu.stage_1.send loss.stage_0 ");
  EXPECT_EQ(StepNames(stages[0], Phase::kMetric), "accuracy.stage_0 ");
  EXPECT_EQ(StepNames(stages[0], Phase::kBackward), "h1.relu.grad.stage_0 h1.bias.grad b1.grad w1.grad ");
  EXPECT_EQ(StepNames(stages[1], Phase::kForward),
            "image label w2 h1.relu.stage_1 logits loss loss.all_reduce loss.stage_0.send ");
  EXPECT_EQ(StepNames(stages[1], Phase::kMetric), "accuracy accuracy.all_reduce accuracy.stage_0.send ");
  EXPECT_EQ(StepNames(stages[1], Phase::kUpdate),
            "w2.grad.all_reduce learning_rate w2.momentum w2.momentum.decayed w2.momentum.new w2.step w2.new ");
  for (const Program& stage : stages) {
    EXPECT_TRUE(stage.loss.has_value());
    EXPECT_EQ(*ParseProgram(ProgramText(stage, 0)), stage);
  }
}

TEST(StagesTest, TheLaterAStageTheFewerMicroBatchesAreUnderWay) {
  const Graph graph = TestMlp();
  Plan plan = Staged(graph, DataParallelPlan(graph, MeshOf({1})), {*graph.Find("h1.relu"), *graph.Find("logits")});
  plan.micro_batches = 4;
  const auto under_way = [&] {
    std::vector<int64_t> counts;
    for (const Program& stage : ProgramsOfParts(CheckedProgram(graph, plan)))
      counts.push_back(MicroBatchesUnderWay(stage));
    return counts;
  };
  EXPECT_EQ(under_way(), (std::vector<int64_t>{3, 2, 1}));
  plan.pipeline->schedule = PipelineSchedule::kGPipe;
  EXPECT_EQ(under_way(), (std::vector<int64_t>{4, 4, 4}));
  plan.micro_batches = 2;
  plan.pipeline->schedule = kOneByOne;
  EXPECT_EQ(under_way(), (std::vector<int64_t>{2, 2, 1}));
}

// What all gradients have in common is the only thing that updates of one stage wait for from others: a number per
// stage there, and one back.
TEST(StagesTest, UpdatesAreWhereTheirParametersAre) {
  const Graph graph = TestMlp({.kind = TestOptimizer::Kind::kAdam, .clips = true});
  Plan plan = Staged(graph, DataParallelPlan(graph, MeshOf({2})), {*graph.Find("h1.relu"), *graph.Find("logits")});
  plan.micro_batches = 3;
  const Program program = CheckedProgram(graph, plan);
  std::vector<std::string> sent;
  for (const Program& stage : ProgramsOfParts(program)) {
    for (const Step& step : stage.steps) {
      if (step.phase != Phase::kUpdate || !std::holds_alternative<Send>(step.action)) continue;
      sent.push_back(step.name);
      EXPECT_EQ(LargestLocalBytes(stage, std::get<Send>(step.action).input), Bytes(4)) << step.name;
    }
  }
  EXPECT_EQ(sent, (std::vector<std::string>{"b1.so_far.stage_2.send", "clip.factor.stage_0.send"}));
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  EXPECT_TRUE(report.ok()) << report.status();
}

// What is sent back, and what costs little, is in the backward pass; the first stage, for which none waits, does all of
// its own there.
TEST(StagesTest, UnderZeroBubbleGradientsOfWeightsAreAPassOfTheirOwn) {
  const Graph graph = TestMlp();
  Plan plan = Staged(graph, DataParallelPlan(graph, MeshOf({1})), {*graph.Find("h1.relu"), *graph.Find("logits")},
                     PipelineSchedule::kZeroBubble);
  plan.micro_batches = 4;
  const Program program = CheckedProgram(graph, plan);
  const std::vector<Program> stages = ProgramsOfParts(program);
  std::vector<std::string> backward, weights;
  std::vector<int64_t> under_way;
  for (const Program& stage : stages) {
    backward.push_back(StepNames(stage, Phase::kBackward));
    weights.push_back(StepNames(stage, Phase::kWeights));
    under_way.push_back(MicroBatchesUnderWay(stage));
    EXPECT_EQ(*ParseProgram(ProgramText(stage, 0)), stage);
  }
  EXPECT_EQ(weights, (std::vector<std::string>{"", "", "w2.grad w2.grad.total "}));
  EXPECT_EQ(backward[0], "h1.bias.grad.stage_0 b1.grad b1.grad.total w1.grad w1.grad.total ");
  EXPECT_EQ(backward[2], "loss.grad logits.grad h1.relu.grad h1.relu.grad.stage_1.send ");
  EXPECT_EQ(under_way, (std::vector<int64_t>{3, 2, 3}));
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  EXPECT_TRUE(report.ok()) << report.status();

  plan.micro_batches = 1;
  EXPECT_EQ(LastPassOf(CheckedProgram(graph, plan)), PassKind::kBackward);
  Program mutant = program;
  mutant.pipeline->schedule = kOneByOne;
  EXPECT_FALSE(CheckStatically(mutant).empty()) << "no such pass";
}

// What is computed again for what is sent back would have to wait for the gradients of weights that read it.
TEST(StagesTest, ProductsThatReadWhatIsMadeAgainDoNotWait) {
  const Graph graph = TestMlp();
  Plan plan =
      Staged(graph, DataParallelPlan(graph, MeshOf({1})), {*graph.Find("h1.bias")}, PipelineSchedule::kZeroBubble);
  plan.micro_batches = 4;
  EXPECT_EQ(StepNames(ProgramsOfParts(CheckedProgram(graph, plan))[1], Phase::kWeights), "w2.grad w2.grad.total ");
  plan.ops[*graph.Find("h1.relu")].retention = Retention::kRecompute;
  const Program again = ProgramsOfParts(CheckedProgram(graph, plan))[1];
  EXPECT_EQ(StepNames(again, Phase::kWeights), "");
  EXPECT_EQ(StepNames(again, Phase::kBackward),
            "loss.grad logits.grad h1.relu.grad h1.relu.again w2.grad w2.grad.total h1.bias.grad b1.grad b1.grad.total "
            "h1.bias.grad.stage_0.send ");
}

// What the backward pass of another stage reads is sent in the forward pass, also where nothing there reads it.
TEST(StagesTest, WhatAnotherStageReadsBackwardIsNotMadeLater) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {2, 4});
  const OpId w = AddParameter(builder, "w", {4});
  const OpId h = builder.Add(OpKind::kMul, {x, w}, {}, "h");
  const OpId rounded = builder.Add(OpKind::kNeg, {h}, {}, "rounded");
  const OpId last = builder.Add(OpKind::kSquare, {h}, {}, "last");
  builder.SetPhase(Phase::kBackward);
  const OpId gradient = builder.Add(OpKind::kMul, {last, rounded}, {}, "gradient");
  const Graph graph = std::move(builder).Build();
  IdVector<OpId, int> stages(graph.ops.size(), 0);
  stages[last] = stages[gradient] = 1;
  Plan plan = *WithStages(DataParallelPlan(graph, MeshOf({1})), {std::string(kStageAxis), 2}, kOneByOne, stages);
  plan.ops[rounded].retention = Retention::kRecompute;
  const std::vector<Program> parts = ProgramsOfParts(CheckedProgram(graph, plan));
  EXPECT_EQ(StepNames(parts[0], Phase::kForward), "x w h rounded h.stage_1.send rounded.stage_1.send ");
  EXPECT_EQ(StepNames(parts[1], Phase::kBackward), "gradient ");
}

// Heads of queries go from the first stage to the last one, and their gradients back: with one place for them the first
// stage would wait for the last one, and that for the first.
TEST(StagesTest, StagesThatAreNoNeighboursSendAheadOfEachOther) {
  const Graph graph = TestAttention();
  Plan plan =
      Staged(graph, DataParallelPlan(graph, MeshOf({1})), {*graph.Find("k"), *graph.Find("v"), *graph.Find("scores")});
  plan.micro_batches = 4;
  const Program program = CheckedProgram(graph, plan);
  int far = 0;
  for (const Step& step : program.steps) {
    const Send* const send = std::get_if<Send>(&step.action);
    if (send == nullptr || step.repeat != Repeat::kEach) continue;
    const int distance = std::abs(*StageOf(program, step) - send->to);
    far += distance == 3 ? 1 : 0;
    if (distance == 1) EXPECT_EQ(MessagesUnderWay(program, step), 1);
    if (distance == 3) EXPECT_EQ(MessagesUnderWay(program, step), 4);
  }
  EXPECT_EQ(far, 2);
}

// A table that the first and the last stage read is in the first, which adds up both gradients.
TEST(StagesTest, TiedWeightsAreInOneStage) {
  const Graph graph = TestTiedWeights();
  const auto is_parameter = [](const Op& op) { return op.kind == OpKind::kParameter; };
  const OpId table = std::find_if(graph.ops.begin(), graph.ops.end(), is_parameter)->id;
  OpId last_reader;
  for (const Op& op : graph.ops) {
    const bool reads = std::count(op.inputs.begin(), op.inputs.end(), table) > 0;
    if (op.phase == Phase::kForward && reads) last_reader = op.id;
  }
  Plan plan = Staged(graph, DataParallelPlan(graph, MeshOf({2})), {last_reader});
  plan.micro_batches = 3;
  const Program program = CheckedProgram(graph, plan);
  for (const ProgramUpdate& update : program.updates) {
    if (program.value(update.state).origin == table) {
      EXPECT_EQ(program.value(update.state).stage, 0);
    }
  }
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  EXPECT_TRUE(report.ok()) << report.status();
}

// Sends that are left out, go elsewhere or are taken in another order, and values that another stage has.
TEST(StagesTest, MutantsAreFound) {
  const Graph graph = TestMlp();
  Plan plan = Staged(graph, DataParallelPlan(graph, MeshOf({2})), {*graph.Find("h1.relu"), *graph.Find("logits")},
                     PipelineSchedule::kZeroBubble);
  plan.micro_batches = 4;
  const Program program = CheckedProgram(graph, plan);
  int mutants = 0;
  const auto expect_found = [&](const std::string& what, const Program& mutant) {
    ++mutants;
    EXPECT_FALSE(CheckStatically(mutant).empty()) << what;
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const std::string& name = program.steps[i].name;
    Program mutant = program;
    const bool talks = std::holds_alternative<Send>(program.steps[i].action) ||
                       std::holds_alternative<Receive>(program.steps[i].action);
    if (talks) {
      mutant.steps.erase(mutant.steps.begin() + static_cast<int64_t>(i));
      expect_found(name + " is left out", mutant);
      mutant = program;
      mutant.steps.insert(mutant.steps.begin() + static_cast<int64_t>(i), program.steps[i]);
      expect_found(name + " happens twice", mutant);
    }
    for (int stage = 0; stage < 3; ++stage) {
      mutant = program;
      if (Send* send = std::get_if<Send>(&mutant.steps[i].action); send != nullptr && send->to != stage) {
        send->to = stage;
        expect_found(absl::StrCat(name, " goes to ", stage), mutant);
      }
      mutant = program;
      if (Receive* receive = std::get_if<Receive>(&mutant.steps[i].action);
          receive != nullptr && receive->from != stage) {
        receive->from = stage;
        expect_found(absl::StrCat(name, " comes from ", stage), mutant);
      }
      mutant = program;
      for (const ValueId value : Writes(program.steps[i])) {
        std::optional<int>& held = mutant.values[value].stage;
        if (!held.has_value() || *held == stage) continue;
        held = stage;
        expect_found(absl::StrCat(name, " is of stage ", stage), mutant);
      }
    }
    const bool is_next_alike =
        talks && i + 2 < program.steps.size() && program.steps[i + 2].action.index() == program.steps[i].action.index();
    if (is_next_alike) {
      mutant = program;
      std::swap(mutant.steps[i], mutant.steps[i + 2]);
      expect_found(name + " is exchanged with another", mutant);
    }
  }
  EXPECT_GT(mutants, 40);
}

// Any cuts of any plans: what stages send each other, what they compute, and when.
TEST(StagesTest, RandomPipelinesComputeWhatOneDeviceComputes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Graph graphs[] = {TestMlp(), TestTiedWeights(), TestAttention()};
  int proven = 0;
  for (int round = 0; round < 90; ++round) {
    const Graph& graph = graphs[round % 3];
    std::vector<OpId> forward;
    for (const Op& op : graph.ops) {
      if (op.phase == Phase::kForward) forward.push_back(op.id);
    }
    const bool is_interleaved = random() % 3 == 0;
    const int parts = 2 + static_cast<int>(random() % 2);
    const int64_t stages = is_interleaved ? 2 * parts : 2 + static_cast<int64_t>(random() % 3);
    std::vector<OpId> first;
    std::sample(forward.begin(), forward.end(), std::back_inserter(first), stages - 1, random);
    Plan plan = RandomPlan(graph, RandomMesh(1 + static_cast<int64_t>(random() % 4), random), random);
    for (const Op& op : graph.ops) {
      if (CanBeRecomputed(graph, op) && random() % 5 == 0) plan.ops[op.id].retention = Retention::kRecompute;
    }
    const PipelineSchedule schedule = is_interleaved ? PipelineSchedule(PipelineSchedule::kInterleaved, 2)
                                                     : static_cast<PipelineSchedule::Order>(random() % 3);
    const int64_t micro_batches =
        is_interleaved ? parts * (1 + static_cast<int64_t>(random() % 2)) : 1 + static_cast<int64_t>(random() % 4);
    const Distributed split = *Distribute(graph, Staged(graph, plan, first, schedule, micro_batches));
    const std::optional<Program> program = ProvenProgram(graph, split);
    if (!program.has_value()) continue;
    for (const Program& stage : ProgramsOfParts(*program)) {
      EXPECT_EQ(*ParseProgram(ProgramText(stage, 0)), stage);
    }
    EXPECT_EQ(*ParseProgram(ProgramText(*program, 0)), *program);
    ++proven;
  }
  EXPECT_GT(proven, 50);
}

}  // namespace
}  // namespace cleave::ir
