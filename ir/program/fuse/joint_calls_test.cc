#include "ir/program/fuse/joint_calls.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/kernel_call.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

// A norm of rows of five numbers, and a loss. `trained`: what of x, scale and shift is a parameter; the others are
// constants, so that nobody wants a gradient by them.
Graph NormModel(const std::vector<std::string>& trained) {
  GraphBuilder builder;
  const auto tensor = [&](const std::string& name, const Shape& shape) {
    if (std::find(trained.begin(), trained.end(), name) != trained.end()) {
      return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
    }
    return builder.Add(OpKind::kConstant, {}, {{attribute::kShape, shape}, {attribute::kValue, 0.5}}, name);
  };
  const OpId x = builder.Add(OpKind::kSquare, {tensor("x", {4, 6, 5})}, {}, "square");
  const OpId y = builder.Add(OpKind::kLayerNorm, {x, tensor("scale", {5}), tensor("shift", {5})}, {}, "y");
  const OpId squares = builder.Add(OpKind::kSquare, {y}, {}, "squares");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {squares}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  return std::move(builder).Build();
}

Graph TrainedNorm(const std::vector<std::string>& trained = {"x", "scale", "shift"}) {
  absl::StatusOr<Graph> graph = Differentiate(NormModel(trained), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

Program NormProgram(const Graph& graph, int devices = 1) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, Mesh::OfDevices(devices)));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

const Compute& ComputeAt(const Program& program, int step) {
  return *ComputeOf(program.steps[static_cast<size_t>(step)]);
}

// The kinds of each call's steps.
std::vector<std::string> KindsOf(const Program& program, Epilogues epilogues = Epilogues::kBias) {
  std::vector<std::string> calls;
  for (const JointCall& call : FindJointCalls(program, epilogues)) {
    calls.push_back(absl::StrJoin(call.steps, " ", [&](std::string* out, int i) {
      absl::StrAppend(out, OpKindName(ComputeAt(program, i).kind));
    }));
  }
  return calls;
}

constexpr char kAllGradients[] = "layer_norm_gradient_input layer_norm_gradient_scale reduce_sum";

TEST(FindJointCalls, GradientsOfANormAreOneCall) {
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    for (const int devices : {1, 2, 3}) {
      const Program program = NormProgram(ApplyPrecision(TrainedNorm(), precision).graph, devices);
      EXPECT_EQ(KindsOf(program), std::vector<std::string>{kAllGradients}) << devices;
    }
  }
}

TEST(FindJointCalls, HaveWhatIsWanted) {
  using Calls = std::vector<std::string>;
  EXPECT_EQ(KindsOf(NormProgram(TrainedNorm({"x", "scale"}))),
            Calls{"layer_norm_gradient_input layer_norm_gradient_scale"});
  EXPECT_EQ(KindsOf(NormProgram(TrainedNorm({"scale", "shift"}))), Calls{"layer_norm_gradient_scale reduce_sum"});
  EXPECT_EQ(KindsOf(NormProgram(TrainedNorm({"x", "shift"}))), Calls());
  EXPECT_EQ(KindsOf(NormProgram(TrainedNorm({"scale"}))), Calls());
}

TEST(FindJointCalls, KnowTheirTensors) {
  const Program program = NormProgram(TrainedNorm());
  const JointCall call = FindJointCalls(program).front();
  EXPECT_EQ(ComputeAt(program, call.op).kind, OpKind::kLayerNormGradientScale);
  ASSERT_EQ(call.companions.size(), 5u);
  const Compute& by_x = ComputeAt(program, *call.companions[0]);
  EXPECT_EQ(by_x.kind, OpKind::kLayerNormGradientInput);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(TensorOf(program, call, *call.companions[0], i), i);
    EXPECT_EQ(ValueOf(program, call, i), by_x.inputs[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(TensorOf(program, call, *call.companions[1], 0), 0);
  EXPECT_EQ(ValueOf(program, call, kResult), ComputeAt(program, call.op).output);
  EXPECT_EQ(ValueOf(program, call, ResultOf(0)), by_x.output);
  EXPECT_EQ(ValueOf(program, call, ResultOf(1)), ComputeAt(program, *call.companions[1]).output);
  // A call without the gradient by the input has no scale.
  const Program frozen = NormProgram(TrainedNorm({"scale", "shift"}));
  EXPECT_EQ(ValueOf(frozen, FindJointCalls(frozen).front(), 2), std::nullopt);
  EXPECT_EQ(ValueOf(frozen, FindJointCalls(frozen).front(), ResultOf(0)), std::nullopt);
}

// A block with a residual connection around a norm, between products. `softens`: the sum ends a chain of elementwise
// ops.
Graph ResidualBlock(bool softens) {
  GraphBuilder builder;
  const auto tensor = [&](const std::string& name, const Shape& shape) {
    return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
  };
  const OpId x = tensor("x", {4, 6, 5});
  OpId h = builder.Add(OpKind::kMatmul, {x, tensor("w", {5, 5})}, {}, "h");
  if (softens) h = builder.Add(OpKind::kSoftplus, {h}, {}, "soft");
  const OpId sum = builder.Add(OpKind::kAdd, {x, h}, {}, "sum");
  const OpId y = builder.Add(OpKind::kLayerNorm, {sum, tensor("scale", {5}), tensor("shift", {5})}, {}, "y");
  const OpId z = builder.Add(OpKind::kMatmul, {y, tensor("v", {5, 5})}, {}, "z");
  const OpId squares = builder.Add(OpKind::kSquare, {builder.Add(OpKind::kAdd, {sum, z}, {}, "out")}, {}, "squares");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {squares}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  absl::StatusOr<Graph> graph = Differentiate(std::move(builder).Build(), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

TEST(FindJointCalls, ANormMakesTheSumBeforeItAndThatOfItsGradient) {
  const auto calls = [](Precision precision, bool softens) {
    std::vector<std::string> kinds = KindsOf(NormProgram(ApplyPrecision(ResidualBlock(softens), precision).graph));
    std::sort(kinds.begin(), kinds.end());
    return kinds;
  };
  using Calls = std::vector<std::string>;
  EXPECT_EQ(calls(Precision::kF32, false), (Calls{"add layer_norm", absl::StrCat(kAllGradients, " add")}));
  // Beside a product a parameter is in bf16, and so is their sum, which the call does not round.
  EXPECT_EQ(calls(Precision::kBf16, false), (Calls{absl::StrCat(kAllGradients, " add cast")}));
  // One loop makes all that is added.
  EXPECT_EQ(calls(Precision::kF32, true), (Calls{absl::StrCat(kAllGradients, " add")}));
}

TEST(Storage, SumsAroundANormLieOverTheirTerms) {
  const Program program = NormProgram(ApplyPrecision(ResidualBlock(false), Precision::kBf16).graph);
  const Fusion fusion = Fuse(program);
  const Storage storage = PlanStorage(program, fusion);
  const JointCall call = FindJointCalls(program).front();
  ASSERT_EQ(ComputeAt(program, call.op).kind, OpKind::kLayerNormGradientScale);
  EXPECT_TRUE(fusion.inside.contains(*ValueOf(program, call, ResultOf(0)))) << "the gradient without the other";
  EXPECT_TRUE(storage.SameBuffer(*ValueOf(program, call, 3), *ValueOf(program, call, ResultOf(2))));
  EXPECT_FALSE(storage.SameBuffer(*ValueOf(program, call, 0), *ValueOf(program, call, ResultOf(4))));
}

// An op that reads the same tensors but computes something else.
TEST(FindJointCalls, LeaveOutWhatDoesNotFit) {
  const auto changed = [](OpKind kind, auto change) {
    Program program = NormProgram(TrainedNorm());
    for (Step& step : program.steps) {
      auto* const compute = std::get_if<Compute>(&step.action);
      if (compute != nullptr && compute->kind == kind && step.phase == Phase::kBackward) change(step, *compute);
    }
    return KindsOf(program);
  };
  using Calls = std::vector<std::string>;
  const Calls without_input = {"layer_norm_gradient_scale reduce_sum"};
  EXPECT_EQ(changed(OpKind::kLayerNormGradientInput,
                    [](Step&, Compute& compute) { compute.attributes.Set(attribute::kEpsilon, 0.5); }),
            without_input);
  EXPECT_EQ(changed(OpKind::kLayerNormGradientInput, [](Step& step, Compute&) { step.phase = Phase::kWeights; }),
            without_input);
  EXPECT_EQ(changed(OpKind::kReduceSum,
                    [](Step&, Compute& compute) { compute.attributes.Set(attribute::kAxes, std::vector<int64_t>{0}); }),
            Calls{"layer_norm_gradient_input layer_norm_gradient_scale"});
}

// As one that is reduced before the others are made.
TEST(FindJointCalls, ResultsMayBeReadBetweenItsSteps) {
  Program program = NormProgram(TrainedNorm());
  const JointCall whole = FindJointCalls(program).front();
  Step reader = program.steps[static_cast<size_t>(whole.steps[0])];
  Compute& compute = std::get<Compute>(reader.action);
  compute.kind = OpKind::kNeg;
  compute.attributes = {};
  compute.inputs = {compute.output};
  program.values.push_back(program.value(compute.output));
  compute.output = ValueId(static_cast<int64_t>(program.values.size()) - 1);
  program.steps.insert(program.steps.begin() + whole.steps[0] + 1, reader);
  const std::vector<JointCall> found = FindJointCalls(program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].steps.size(), 3u);
  EXPECT_EQ(found[0].place, whole.steps[0]);
  const Fusion fusion = Fuse(program);
  EXPECT_LT(fusion.written_by[ComputeAt(program, found[0].op).output], fusion.written_by[compute.output]);
}

TEST(Fuse, AJointCallIsOneStage) {
  const Program program = NormProgram(TrainedNorm());
  const Fusion fusion = Fuse(program);
  std::set<int> stages;
  const JointCall call = FindJointCalls(program).front();
  for (const int step : call.steps) {
    stages.insert(fusion.written_by[ComputeAt(program, step).output]);
  }
  EXPECT_EQ(stages.size(), 1u);
}

// Where the call reads an element of the gradient for the last time, it writes.
TEST(Storage, AJointCallWritesOverWhatItReads) {
  const Program program = NormProgram(TrainedNorm());
  const JointCall call = FindJointCalls(program).front();
  const Storage storage = PlanStorage(program, Fuse(program));
  EXPECT_TRUE(storage.SameBuffer(*ValueOf(program, call, 0), *ValueOf(program, call, ResultOf(0))));
  EXPECT_FALSE(storage.SameBuffer(*ValueOf(program, call, 1), *ValueOf(program, call, ResultOf(0))));
  EXPECT_FALSE(storage.SameBuffer(*ValueOf(program, call, 2), *ValueOf(program, call, kResult)));
}

// Two dense layers on an input, with gelu between them, and a loss. `gated`: by a value beside it.
Graph DenseLayers(bool gated, int64_t width = 16) {
  GraphBuilder builder;
  const auto tensor = [&](const std::string& name, const Shape& shape) {
    return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
  };
  const auto dense = [&](OpId x, int64_t width, const std::string& name) {
    const OpId weight = tensor(name + ".weight", {width, builder.type(x).shape[2]});
    const OpId product = builder.Add(OpKind::kMatmul, {x, weight}, {{attribute::kTransposeB, true}}, name);
    return builder.Add(OpKind::kBiasAdd, {product, tensor(name + ".bias", {width})}, {}, name + ".sum");
  };
  const OpId x = AddInput(builder, "x", {4, 6, 5});
  OpId gelu = builder.Add(OpKind::kGelu, {dense(x, width, "up")}, {}, "gelu");
  if (gated) gelu = builder.Add(OpKind::kMul, {gelu, dense(x, width, "gate")}, {}, "gated");
  const OpId squares = builder.Add(OpKind::kSquare, {dense(gelu, 3, "down")}, {}, "squares");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {squares}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  absl::StatusOr<Graph> graph = Differentiate(std::move(builder).Build(), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

TEST(FindJointCalls, ProductsHaveEpilogues) {
  using Calls = std::vector<std::string>;
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const Program program = NormProgram(ApplyPrecision(DenseLayers(/*gated=*/false), precision).graph);
    EXPECT_EQ(KindsOf(program), (Calls{"matmul bias_add", "matmul bias_add"}));
    EXPECT_EQ(KindsOf(program, Epilogues::kAll),
              (Calls{"matmul bias_add gelu", "matmul bias_add", "matmul gelu_gradient", "reduce_sum matmul_sum",
                     "reduce_sum matmul_sum"}));
  }
}

TEST(FindJointCalls, GeluIsOneWhereRowsHaveEightsOfElements) {
  for (const std::string& call : KindsOf(NormProgram(DenseLayers(/*gated=*/false, 12)), Epilogues::kAll)) {
    EXPECT_EQ(call.find("gelu"), std::string::npos) << call;
  }
}

TEST(FindJointCalls, AnEpilogueLeavesLoopsWhole) {
  const std::vector<std::string> calls = KindsOf(NormProgram(DenseLayers(/*gated=*/true)), Epilogues::kAll);
  for (const std::string& call : calls) EXPECT_EQ(call.find("gelu"), std::string::npos) << call;
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "matmul bias_add"), 3);
}

TEST(FindJointCalls, ASumOverMicroBatchesKeepsItsProduct) {
  const Graph graph = DenseLayers(/*gated=*/false);
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(1));
  plan.micro_batches = 2;
  const absl::StatusOr<Program> program = Partition(graph, plan);
  ASSERT_TRUE(program.ok()) << program.status();
  for (const std::string& call : KindsOf(*program, Epilogues::kAll)) {
    EXPECT_EQ(call.find("matmul_sum"), std::string::npos) << call;
  }
}

// The mean of `losses` cross-entropies of two sets of logits. With `shows`, a metric reads the logits.
Graph Losses(int losses, bool shows) {
  GraphBuilder builder;
  const OpId label = AddInput(builder, "label", {4, 6}, DType::kI32);
  std::optional<OpId> sum;
  for (int i = 0; i < losses; ++i) {
    const OpId w = AddParameter(builder, absl::StrCat("w", i), {4, 6, 8});
    const OpId logits = builder.Add(OpKind::kSquare, {w}, {}, absl::StrCat("logits", i));
    const OpId loss = builder.Add(OpKind::kCrossEntropy, {logits, label}, {}, absl::StrCat("loss", i));
    sum = sum.has_value() ? builder.Add(OpKind::kAdd, {*sum, loss}, {}, "sum") : loss;
    if (!shows) continue;
    builder.SetPhase(Phase::kMetric);
    builder.mutable_graph().metrics.push_back(
        {.name = "accuracy", .value = builder.Add(OpKind::kAccuracy, {logits, label}, {}, absl::StrCat("metric", i))});
    builder.SetPhase(Phase::kForward);
  }
  if (losses > 1) sum = builder.Add(OpKind::kScale, {*sum}, {{attribute::kFactor, 0.5}}, "mean");
  builder.mutable_graph().loss = sum;
  absl::StatusOr<Graph> graph = Differentiate(std::move(builder).Build(), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return *std::move(graph);
}

TEST(FindJointCalls, ALossMakesItsGradientInTheForwardPass) {
  const std::string both = "cross_entropy cross_entropy_gradient";
  for (const int devices : {1, 2}) {
    EXPECT_EQ(KindsOf(NormProgram(Losses(1, false), devices)), std::vector<std::string>{both});
    EXPECT_EQ(KindsOf(NormProgram(Losses(2, false), devices)), (std::vector<std::string>{both, both}));
    // What a metric reads stays as it is.
    EXPECT_EQ(KindsOf(NormProgram(Losses(1, true), devices)), std::vector<std::string>());
  }
}

// The scale of both losses is made once, before the first of them, and the gradients lie over the logits.
TEST(Storage, TheGradientOfALossLiesOverTheLogits) {
  const Program program = NormProgram(Losses(2, false));
  const Fusion fusion = Fuse(program);
  const Storage storage = PlanStorage(program, fusion);
  int ahead = 0;
  for (const FusedStage& stage : fusion.stages) {
    const auto* const call = std::get_if<JointCall>(&stage.action);
    if (call == nullptr) continue;
    EXPECT_EQ(stage.phase, Phase::kForward);
    ahead += static_cast<int>(call->ahead.size());
    for (const int step : call->ahead) {
      const int made = fusion.written_by[ComputeAt(program, step).output];
      EXPECT_LT(made, fusion.written_by[ComputeAt(program, call->op).output]);
      EXPECT_EQ(fusion.stages[static_cast<size_t>(made)].phase, Phase::kForward);
    }
    EXPECT_EQ(storage.root[ComputeAt(program, *call->companions[0]).output],
              storage.root[ComputeAt(program, call->op).inputs[0]]);
  }
  EXPECT_EQ(ahead, 1);
}

}  // namespace
}  // namespace cleave::ir
