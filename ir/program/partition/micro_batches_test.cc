#include "ir/sharding/micro_batches/micro_batches.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/testing/checked_programs.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

std::string Names(const Program& program, Repeat repeat) {
  std::string names;
  for (const Step& step : program.steps) {
    if (step.repeat == repeat) absl::StrAppend(&names, step.name, " ");
  }
  return names;
}

Program InMicroBatches(const Graph& graph, Plan plan, int64_t count) {
  plan.micro_batches = count;
  absl::StatusOr<Program> program = Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// A mean that is weighted by an input: each sample needs the sum of the weights.
Graph MaskedMean() {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {12, 5});
  const OpId mask = AddInput(builder, "mask", {12, 4});
  const OpId table = AddParameter(builder, "table", {5, 4});
  const OpId y = builder.Add(OpKind::kTanh, {builder.Add(OpKind::kMatmul, {x, table}, {}, "product")}, {}, "y");
  const OpId weight = builder.Add(OpKind::kSquare, {mask}, {}, "weight");
  const OpId weighted = builder.Add(OpKind::kMul, {y, weight}, {}, "weighted");
  const OpId sum = builder.Add(OpKind::kReduceSum, {weighted}, {}, "sum");
  const OpId count = builder.Add(OpKind::kReduceSum, {weight}, {}, "count");
  builder.mutable_graph().loss = builder.Add(OpKind::kDiv, {sum, count}, {}, "loss");
  return TrainingGraph(std::move(builder).Build(), {});
}

// A product of what is relative to the mean and to the largest number of each column of the inputs.
Graph CenteredInputs() {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {12, 6});
  const OpId mean = builder.Add(OpKind::kReduceMean, {x}, {{attribute::kAxes, Shape{0}}}, "mean");
  const OpId most = builder.Add(OpKind::kReduceMax, {x}, {{attribute::kAxes, Shape{0}}}, "most");
  const OpId centered = builder.Add(OpKind::kSub, {x, mean}, {}, "centered");
  const OpId below = builder.Add(OpKind::kSub, {x, most}, {}, "below");
  const OpId both = builder.Add(OpKind::kMul, {centered, below}, {}, "both");
  const OpId y = builder.Add(OpKind::kMatmul, {both, AddParameter(builder, "table", {6, 4})}, {}, "y");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {y}, {}, "loss");
  return TrainingGraph(std::move(builder).Build(), {});
}

// The sum of the weights is there before the micro-batches, and what is summed up for it is made again for the samples.
TEST(MicroBatchesTest, SumsOfInputsAreThereBeforeThem) {
  const Graph graph = MaskedMean();
  const Program program = InMicroBatches(graph, DataParallelPlan(graph, MeshOf({2})), 3);
  EXPECT_EQ(Names(program, Repeat::kEachBefore), "x mask weight.again count count.total ");
  EXPECT_EQ(Names(program, Repeat::kOnceBefore),
            "table count.all_reduce loss.grad sum.grad sum.grad_x weighted.grad weighted.grad.all_gather ");
  EXPECT_EQ(CheckStatically(program), std::vector<std::string>());

  const Graph centered = CenteredInputs();
  EXPECT_EQ(Names(InMicroBatches(centered, DataParallelPlan(centered, MeshOf({2})), 3), Repeat::kEachBefore),
            "x mean mean.total most most.total ");
}

// What has no samples is computed once for all micro-batches, whatever its sizes are.
TEST(MicroBatchesTest, InputsWithoutSamplesAreNotCut) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {12, 6});
  const OpId table = builder.Add(OpKind::kInput, {},
                                 {{attribute::kShape, Shape{12, 4}},
                                  {attribute::kData, std::string("table")},
                                  {attribute::kFile, std::string("table.npy")}},
                                 "table");
  const OpId own = builder.Add(OpKind::kMatmul, {table, AddParameter(builder, "weight", {4, 6})}, {}, "own");
  const OpId y = builder.Add(OpKind::kMatmul, {x, own}, {{attribute::kTransposeB, true}}, "y");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {y}, {}, "loss");
  const Graph graph = TrainingGraph(std::move(builder).Build(), {});
  const Program program = InMicroBatches(graph, DataParallelPlan(graph, MeshOf({2})), 3);
  const std::string before = Names(program, Repeat::kOnceBefore);
  EXPECT_NE(before.find("table "), std::string::npos) << before;
  EXPECT_NE(before.find("own "), std::string::npos) << before;
  EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
}

TEST(MicroBatchesTest, WhatIsSummedRunsAfterThem) {
  const Graph graph = TestMlp();
  const Program program = InMicroBatches(graph, DataParallelPlan(graph, MeshOf({2})), 4);
  EXPECT_EQ(Names(program, Repeat::kOnceBefore), "w1 b1 w2 loss.grad ");
  EXPECT_EQ(Names(program, Repeat::kEach),
            "image label h1 h1.bias h1.relu logits loss loss.total accuracy accuracy.total logits.grad h1.relu.grad "
            "w2.grad w2.grad.total h1.bias.grad b1.grad b1.grad.total w1.grad w1.grad.total ");
  EXPECT_EQ(Names(program, Repeat::kOnceAfter),
            "loss.all_reduce accuracy.all_reduce gradients.all_reduce w1.momentum w1.momentum.decayed w1.momentum.new "
            "learning_rate w1.step w1.new b1.momentum b1.momentum.decayed b1.momentum.new b1.step b1.new w2.momentum "
            "w2.momentum.decayed w2.momentum.new w2.step w2.new ");
  EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
}

// Both uses of the table add to its gradient before the micro-batches are added up.
TEST(MicroBatchesTest, SumsOfPartsAreAddedUpOnce) {
  const Graph graph = TestTiedWeights();
  const Program program = InMicroBatches(graph, DataParallelPlan(graph, MeshOf({2})), 2);
  int64_t tables = 0;
  for (const Step& step : program.steps) {
    const Collective* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || !IsSumOverTime(program, *collective)) continue;
    const Op& op = graph.op(program.value(collective->transfers[0].output).origin);
    if (op.gradient_of.has_value()) ++tables;
  }
  int64_t parameters = 0;
  for (const Op& op : graph.ops) parameters += op.kind == OpKind::kParameter ? 1 : 0;
  EXPECT_EQ(tables, parameters);
}

// The gradient that is scattered as soon as it is made is added up in parts.
TEST(MicroBatchesTest, WhatThePlanScattersIsScatteredForEach) {
  const Graph graph = TestMlp();
  Plan plan = DataParallelPlan(graph, MeshOf({2}));
  const OpId gradient = *graph.Find("w1.grad");
  Layout scattered = Layout::Replicated(2);
  scattered.dimensions[0] = {AxisId(0)};
  plan.ops[gradient].output = scattered;
  const Program program = InMicroBatches(graph, plan, 4);
  for (const Step& step : program.steps) {
    if (step.name == "w1.grad.reduce_scatter") {
      EXPECT_EQ(step.repeat, Repeat::kEach);
    } else if (step.name == "w1.grad.total") {
      EXPECT_EQ(program.value(Writes(step)[0]).layout, scattered);
    }
  }
  EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
}

// A sum over the samples for what the backward pass makes again, once a step: the sum is added up again where it is
// made again itself, and kept where only its copies are made again.
TEST(MicroBatchesTest, SumsThatAreMadeAgainAreOfAllMicroBatches) {
  GraphBuilder builder;
  const OpId weight = AddParameter(builder, "weight", {4});
  const OpId x = AddInput(builder, "x", {8, 4});
  const OpId shifted = builder.Add(OpKind::kAdd, {x, weight}, {}, "shifted");
  const OpId mean = builder.Add(OpKind::kReduceMean, {shifted}, {{attribute::kAxes, Shape{0}}}, "mean");
  const OpId active = builder.Add(OpKind::kTanh, {mean}, {}, "active");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {active}, {}, "loss");
  const Graph graph = TrainingGraph(std::move(builder).Build(), {});
  const auto sums = [&](Retention of_mean) {
    Plan plan = DataParallelPlan(graph, MeshOf({2}));
    plan.ops[mean].retention = of_mean;
    plan.ops[active].retention = Retention::kRecompute;
    const Program program = InMicroBatches(graph, plan, 2);
    EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
    return std::count_if(program.steps.begin(), program.steps.end(), [&](const Step& step) {
      const auto* collective = std::get_if<Collective>(&step.action);
      return collective != nullptr && IsSumOverTime(program, *collective) &&
             program.value(Writes(step)[0]).origin == mean;
    });
  };
  EXPECT_EQ(sums(Retention::kRecompute), 2);
  EXPECT_EQ(sums(Retention::kRedistribute), 1);
}

TEST(MicroBatchesTest, OpsThatRelateSamplesAreRefused) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {8, 4});
  const OpId moved = builder.Add(OpKind::kAdd, {x, AddParameter(builder, "shift", {4})}, {}, "moved");
  const OpId mean = builder.Add(OpKind::kReduceMean, {moved}, {{attribute::kAxes, Shape{0}}}, "mean");
  const OpId centered = builder.Add(OpKind::kSub, {moved, mean}, {}, "centered");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {centered}, {}, "loss");
  const BatchUses uses = FindBatchUses(std::move(builder).Build());
  EXPECT_EQ(uses.obstacle, (BatchObstacle{.op = mean, .reader = centered}));

  // The variance needs the mean first.
  GraphBuilder sums;
  const OpId z = AddInput(sums, "z", {8, 4});
  const OpId first = sums.Add(OpKind::kReduceMean, {z}, {{attribute::kAxes, Shape{0}}}, "first");
  const OpId apart = sums.Add(OpKind::kSquare, {sums.Add(OpKind::kSub, {z, first}, {}, "apart")}, {}, "squares");
  const OpId variance = sums.Add(OpKind::kReduceMean, {apart}, {{attribute::kAxes, Shape{0}}}, "variance");
  const OpId scaled = sums.Add(OpKind::kDiv, {z, variance}, {}, "scaled");
  sums.mutable_graph().loss = sums.Add(OpKind::kReduceMean, {scaled}, {}, "loss");
  EXPECT_EQ(FindBatchUses(std::move(sums).Build()).obstacle, (BatchObstacle{.op = variance, .reader = scaled}));

  GraphBuilder products;
  const OpId y = AddInput(products, "y", {8, 4});
  const OpId pairs = products.Add(OpKind::kMatmul, {y, y}, {{attribute::kTransposeB, true}}, "pairs");
  products.mutable_graph().loss = products.Add(OpKind::kReduceMean, {pairs}, {}, "loss");
  EXPECT_EQ(FindBatchUses(std::move(products).Build()).obstacle, (BatchObstacle{.op = pairs, .reader = pairs}));
}

TEST(MicroBatchesTest, RefusalsNameTheLargestNumberThatWorks) {
  const auto refusal = [](const Graph& graph, int64_t devices, int64_t count) {
    Plan plan = DataParallelPlan(graph, MeshOf({devices}));
    plan.micro_batches = count;
    return FindRefusal(graph, plan);
  };
  const Graph mlp = TestMlp();
  EXPECT_EQ(refusal(mlp, 2, 24), std::nullopt);
  EXPECT_EQ(refusal(mlp, 2, 30),
            (MicroBatchRefusal{.op = *mlp.Find("image"), .why = "`image` has 24 samples", .largest = 24}));
  // Samples and another dimension become one, of which parts must be equal.
  GraphBuilder joined;
  const OpId tokens = AddInput(joined, "tokens", {12, 5});
  const OpId flat = joined.Add(OpKind::kReshape, {tokens}, {{attribute::kShape, Shape{60}}}, "flat");
  joined.mutable_graph().loss = joined.Add(OpKind::kReduceMean, {flat}, {}, "loss");
  const Graph uneven = std::move(joined).Build();
  EXPECT_EQ(refusal(uneven, 1, 6), std::nullopt);
  EXPECT_EQ(refusal(uneven, 1, 5)->op, flat);
  EXPECT_EQ(refusal(uneven, 1, 5)->largest, 4);
  EXPECT_EQ(refusal(uneven, 2, 4)->largest, 3);
  EXPECT_EQ(refusal(uneven, 12, 6)->largest, 1);

  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {8, 4});
  const OpId moved = builder.Add(OpKind::kAdd, {x, AddParameter(builder, "shift", {4})}, {}, "moved");
  const OpId mean = builder.Add(OpKind::kReduceMean, {moved}, {{attribute::kAxes, Shape{0}}}, "mean");
  const OpId centered = builder.Add(OpKind::kSub, {moved, mean}, {}, "centered");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {centered}, {}, "loss");
  const Graph graph = std::move(builder).Build();
  EXPECT_EQ(
      refusal(graph, 1, 2),
      (MicroBatchRefusal{
          .op = mean, .why = "`mean` sums over all samples of a step, and `centered` needs the sum for each of them"}));
}

// A product in 8 bits between two others, of samples or of rows of samples, and its gradients.
Graph In8Bits(int64_t samples, int64_t rows) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", rows == 0 ? Shape{samples, 16} : Shape{samples, rows, 16});
  const OpId first = builder.Add(OpKind::kMatmul, {x, AddParameter(builder, "first", {16, 32})}, {}, "a");
  const OpId h = builder.Add(OpKind::kTanh, {first}, {}, "h");
  const OpId within = builder.Add(OpKind::kMatmul, {h, AddParameter(builder, "within", {16, 32})},
                                  {{attribute::kTransposeB, true}}, "b");
  const OpId y = builder.Add(OpKind::kTanh, {within}, {}, "y");
  const OpId last = builder.Add(OpKind::kMatmul, {y, AddParameter(builder, "last", {16, 4})}, {}, "c");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {last}, {}, "loss");
  return ApplyPrecision(TrainingGraph(std::move(builder).Build(), {}), Precision::kFp8).graph;
}

// Activations and gradients have a unit for each micro-batch, the same on all ranks; weights have one for the step.
TEST(MicroBatchesTest, TensorsOf8BitsHaveAUnitForEach) {
  int proven = 0;
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    Random random(seed);
    const int64_t count = RandomInt(random, 2, 4);
    const Graph graph = In8Bits(count * RandomInt(random, 1, 3), RandomInt(random, 0, 3));
    Plan plan = RandomPlan(graph, RandomMesh(RandomInt(random, 1, 4), random), random);
    plan.micro_batches = count;
    if (FindRefusal(graph, plan).has_value()) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const absl::StatusOr<Distributed> split = Distribute(graph, plan);
    ASSERT_TRUE(split.ok()) << split.status();
    const std::optional<Program> program = ProvenProgram(graph, *split);
    if (!program.has_value()) continue;
    ++proven;
    std::string of_each, of_all;
    for (const Step& step : program->steps) {
      const auto* const compute = std::get_if<Compute>(&step.action);
      if (compute == nullptr || compute->kind != OpKind::kF8Unit) continue;
      const Value& unit = program->value(compute->output);
      EXPECT_EQ(step.repeat == Repeat::kEach, unit.type.rank() > 0) << unit.name;
      for (const AxisList& axes : unit.layout.dimensions) {
        EXPECT_TRUE(axes.empty() || axes == AxisList{*program->time}) << unit.name;
      }
      absl::StrAppend(unit.type.rank() > 0 ? &of_each : &of_all, unit.name, " ");
    }
    EXPECT_EQ(of_each, "h.unit b.grad.unit ");
    EXPECT_EQ(of_all, "within.unit ");
  }
  EXPECT_GE(proven, 8);

  const auto refusal = [](int64_t samples, int64_t devices, int64_t count) {
    const Graph graph = In8Bits(samples, 0);
    Plan plan = DataParallelPlan(graph, MeshOf({devices}));
    plan.micro_batches = count;
    return FindRefusal(graph, plan);
  };
  EXPECT_EQ(refusal(12, 2, 6), std::nullopt);
  EXPECT_EQ(refusal(12, 2, 5)->why, "`h.largest` has 12 samples, and each micro-batch needs equally many of them");
  EXPECT_EQ(refusal(12, 2, 5)->largest, 4);
  EXPECT_EQ(refusal(12, 2, 12), std::nullopt);
}

TEST(MicroBatchesTest, ManualModelsAreRefused) {
  Graph graph = TestMlp();
  graph.rank_axes = {{.name = "ranks", .size = 2}};
  const std::optional<MicroBatchRefusal> refusal = FindRefusal(graph, 2);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->op, std::nullopt);
  EXPECT_EQ(refusal->largest, 1);
  EXPECT_EQ(FindRefusal(graph, 1), std::nullopt);
}

TEST(MicroBatchesTest, ParametersOfSamplesAreRefused) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {8, 4});
  const OpId shift = AddParameter(builder, "shift", {8, 4});
  const OpId y = builder.Add(OpKind::kTanh, {builder.Add(OpKind::kAdd, {x, shift}, {}, "sum")}, {}, "y");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {y}, {}, "loss");
  const Graph graph = TrainingGraph(std::move(builder).Build(), {});
  const std::optional<BatchObstacle> obstacle = FindBatchUses(graph).obstacle;
  ASSERT_TRUE(obstacle.has_value());
  EXPECT_EQ(graph.op(obstacle->op).phase, Phase::kUpdate);
}

// Maxima, minima and products over samples are put together as sums are.
TEST(MicroBatchesTest, ExtremesAndProductsAreCombined) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {10, 3});
  for (const OpKind kind : {OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kReduceSum}) {
    builder.Add(kind, {x}, {{attribute::kAxes, Shape{0}}}, std::string(OpKindName(kind)));
  }
  Graph graph = std::move(builder).Build();
  for (const Op& op : graph.ops) graph.looks.push_back({.kind = LookKind::kPrint, .value = op.id, .name = op.name});
  Plan plan = DataParallelPlan(graph, MeshOf({2}));
  plan.micro_batches = 3;
  const Distributed split = *Distribute(graph, plan);
  const Program program = *Partition(split.graph, split.plan);
  EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
  EXPECT_TRUE(CheckBySimulation(graph, split, program).ok());
}

// Expects that programs are found in which a micro-batch is left out, counted twice, or sums are read too early;
// returns how many of them there are.
int ExpectMutantsAreFound(const Graph& graph) {
  const Program program = InMicroBatches(graph, DataParallelPlan(graph, MeshOf({2})), 4);
  int mutants = 0;
  const auto expect_found = [&](const std::string& what, const Program& mutant) {
    ++mutants;
    EXPECT_FALSE(CheckStatically(mutant).empty()) << what;
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const std::string& name = program.steps[i].name;
    for (const Repeat repeat : {Repeat::kEachBefore, Repeat::kOnceBefore, Repeat::kEach, Repeat::kOnceAfter}) {
      if (repeat == program.steps[i].repeat) continue;
      // A parameter or a number that nothing changes may be made at any time before it is read.
      const bool is_source = Reads(program.steps[i]).empty() && program.steps[i].phase != Phase::kUpdate;
      const bool is_sample = graph.op(program.value(Writes(program.steps[i])[0]).origin).kind == OpKind::kInput;
      const bool is_early = repeat == Repeat::kOnceBefore || repeat == Repeat::kEachBefore;
      if ((is_source && !is_sample) || (Reads(program.steps[i]).empty() && is_early)) continue;
      Program mutant = program;
      mutant.steps[i].repeat = repeat;
      expect_found(name + " runs " + std::string(RepeatName(repeat)), mutant);
    }
    Program mutant = program;
    if (Compute* const compute = std::get_if<Compute>(&mutant.steps[i].action)) {
      bool is_changed = false;
      for (AxisList& axes : compute->strategy.cuts) {
        const auto end = std::remove(axes.begin(), axes.end(), *program.time);
        is_changed = is_changed || end != axes.end();
        axes.erase(end, axes.end());
      }
      if (is_changed) expect_found(name + " takes all samples", mutant);
    } else if (Collective* const collective = std::get_if<Collective>(&mutant.steps[i].action)) {
      collective->axes.push_back(*program.time);
      expect_found(name + " is also sent along time", mutant);
    }
  }
  return mutants;
}

TEST(MicroBatchesTest, MutantsAreFound) {
  EXPECT_GT(ExpectMutantsAreFound(TestMlp()), 60);
  EXPECT_GT(ExpectMutantsAreFound(MaskedMean()), 40);
  EXPECT_GT(ExpectMutantsAreFound(CenteredInputs()), 40);
}

// Attention cuts compound dimensions, which micro-batches must divide: 4 samples.
TEST(MicroBatchesTest, RandomPlansComputeWhatOneDeviceComputes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Graph graphs[] = {TestMlp(), TestTiedWeights(), TestAttention(), MaskedMean(), CenteredInputs()};
  int proven = 0;
  for (size_t round = 0; round < 100; ++round) {
    const Graph& graph = graphs[round % std::size(graphs)];
    const Plan plan = RandomPlan(graph, RandomMesh(1 + static_cast<int64_t>(random() % 6), random), random);
    Distributed split = *Distribute(graph, plan);
    split.plan.micro_batches = 2 + static_cast<int64_t>(random() % 4);
    if (ProvenProgram(graph, split).has_value()) ++proven;
  }
  EXPECT_GT(proven, 70);
}

}  // namespace
}  // namespace cleave::ir
