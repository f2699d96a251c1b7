#include "ir/program/fuse/attention.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/check/check.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/training/training.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/fuse/storage.h"
#include "ir/program/partition/partition.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/optimizers.h"
#include "ir/testing/plans.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

constexpr int64_t kLargestHead = 128;

struct Variant {
  bool scaled = true;
  bool causal = true;
  double fill = -1e9;
  bool weights_are_read = false;  // By an op outside of the attention.
  int64_t head = 4;
  bool computed = false;  // Query, keys and values are not parameters themselves.
};

// Two matrices of 6 queries and keys, whose tensors are parameters, and a loss.
Graph Model(const Variant& variant) {
  GraphBuilder builder;
  const Shape shape = {2, 6, variant.head};
  OpId q = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, "q");
  OpId k = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, "k");
  OpId v = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, "v");
  if (variant.computed) {
    q = builder.Add(OpKind::kSquare, {q}, {}, "q.square");
    k = builder.Add(OpKind::kSquare, {k}, {}, "k.square");
    v = builder.Add(OpKind::kSquare, {v}, {}, "v.square");
  }
  OpId scores = builder.Add(OpKind::kMatmul, {q, k}, {{attribute::kTransposeB, true}}, "product");
  if (variant.scaled) scores = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, 0.5}}, "scaled");
  if (variant.causal) scores = builder.Add(OpKind::kCausalMask, {scores}, {{attribute::kFill, variant.fill}}, "masked");
  const OpId weights = builder.Add(OpKind::kSoftmax, {scores}, {}, "weights");
  const OpId mixed = builder.Add(OpKind::kMatmul, {weights, v}, {}, "mixed");
  OpId loss = builder.Add(OpKind::kReduceMean, {mixed}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  if (variant.weights_are_read) {
    const OpId other =
        builder.Add(OpKind::kReduceMean, {weights}, {{attribute::kAxes, std::vector<int64_t>{}}}, "other");
    loss = builder.Add(OpKind::kAdd, {loss, other}, {}, "loss");
  }
  builder.mutable_graph().loss = loss;
  return std::move(builder).Build();
}

Program ProgramOf(const Graph& graph) {
  absl::StatusOr<Program> program = Partition(graph, DataParallelPlan(graph, Mesh::OfDevices(1)));
  CLEAVE_CHECK(program.ok()) << program.status();
  return *std::move(program);
}

Program Trained(const Variant& variant) {
  absl::StatusOr<Graph> graph = Differentiate(Model(variant), TestOptimizer());
  CLEAVE_CHECK(graph.ok()) << graph.status();
  return ProgramOf(*graph);
}

std::string NamesOf(const Program& program, const std::vector<int>& steps) {
  return absl::StrJoin(steps, " ",
                       [&](std::string* out, int i) { *out += program.steps[static_cast<size_t>(i)].name; });
}

TEST(FindAttention, TakesBothDirections) {
  const Program program = Trained({});
  const std::vector<Attention> found = FindAttention(program, kLargestHead);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].forward.has_value());
  const AttentionForward& forward = *found[0].forward;
  EXPECT_EQ(NamesOf(program, forward.steps), "product scaled masked weights mixed");
  EXPECT_EQ(program.value(forward.inputs.q).name, "q");
  EXPECT_EQ(program.value(forward.inputs.k).name, "k");
  EXPECT_EQ(program.value(forward.inputs.v).name, "v");
  EXPECT_EQ(program.value(forward.output).name, "mixed");
  EXPECT_EQ(forward.inputs.scale, 0.5);
  EXPECT_TRUE(forward.inputs.causal);
  ASSERT_TRUE(found[0].backward.has_value());
  const AttentionBackward& backward = *found[0].backward;
  EXPECT_EQ(backward.steps.size(), 7u);
  EXPECT_EQ(program.value(backward.output_gradient).name, "mixed.grad");
  EXPECT_EQ(program.value(backward.q_gradient).name, "q.grad");
  EXPECT_EQ(program.value(backward.k_gradient).name, "k.grad");
  EXPECT_EQ(program.value(backward.v_gradient).name, "v.grad");
}

TEST(FindAttention, ScaleAndMaskMayBeMissing) {
  for (const bool scaled : {false, true}) {
    for (const bool causal : {false, true}) {
      const std::vector<Attention> found = FindAttention(Trained({.scaled = scaled, .causal = causal}), kLargestHead);
      ASSERT_EQ(found.size(), 1u) << scaled << causal;
      EXPECT_EQ(found[0].forward->inputs.causal, causal);
      EXPECT_EQ(found[0].forward->inputs.scale, scaled ? 0.5 : 1.0);
      EXPECT_TRUE(found[0].backward.has_value());
    }
  }
}

TEST(FindAttention, WithoutATrainingOnlyForward) {
  const std::vector<Attention> found = FindAttention(ProgramOf(Model({})), kLargestHead);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].backward.has_value());
}

TEST(FindAttention, LeavesWhatOthersNeed) {
  EXPECT_TRUE(FindAttention(Trained({.weights_are_read = true}), kLargestHead).empty());
  EXPECT_TRUE(FindAttention(Trained({.fill = -1}), kLargestHead).empty()) << "such a score has a weight";
  EXPECT_TRUE(FindAttention(Trained({.head = 8}), 4).empty()) << "heads are too large";
}

// Queries and keys out of products, turned by their positions, and fewer heads of keys and values than of queries: four
// heads of queries share two of keys.
Graph RopeModel(bool shares_keys) {
  GraphBuilder builder;
  const auto tensor = [&](const Shape& shape, const std::string& name) {
    return builder.Add(OpKind::kParameter, {}, {{attribute::kShape, shape}}, name);
  };
  const auto made = [&](int64_t heads, const std::string& name) {
    return builder.Add(OpKind::kMatmul, {tensor({heads, 6, 3}, name + ".in"), tensor({heads, 3, 4}, name + ".weight")},
                       {}, name);
  };
  const auto for_all = [&](OpId x, const std::string& name) {
    if (!shares_keys) return x;
    x = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{2, 1, 6, 4}}}, name + ".apart");
    x = builder.Add(OpKind::kBroadcastTo, {x}, {{attribute::kShape, Shape{2, 2, 6, 4}}}, name + ".repeated");
    return builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{4, 6, 4}}}, name + ".for_all");
  };
  const int64_t heads = shares_keys ? 2 : 4;
  const OpId q = builder.Add(OpKind::kRope, {made(4, "q")}, {}, "q.rope");
  const OpId k = for_all(builder.Add(OpKind::kRope, {made(heads, "k")}, {}, "k.rope"), "k");
  const OpId v = for_all(made(heads, "v"), "v");
  const OpId scores = builder.Add(OpKind::kMatmul, {q, k}, {{attribute::kTransposeB, true}}, "product");
  const OpId scaled = builder.Add(OpKind::kScale, {scores}, {{attribute::kFactor, 0.5}}, "scaled");
  const OpId masked = builder.Add(OpKind::kCausalMask, {scaled}, {{attribute::kFill, -1e9}}, "masked");
  const OpId weights = builder.Add(OpKind::kSoftmax, {masked}, {}, "weights");
  const OpId mixed = builder.Add(OpKind::kMatmul, {weights, v}, {}, "mixed");
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {mixed}, {{attribute::kAxes, std::vector<int64_t>{}}}, "mean");
  return std::move(builder).Build();
}

TEST(FindAttention, BehindPositionsInEveryPrecision) {
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    for (const bool shares_keys : {false, true}) {
      absl::StatusOr<Graph> graph = Differentiate(RopeModel(shares_keys), TestOptimizer());
      ASSERT_TRUE(graph.ok()) << graph.status();
      const std::vector<Attention> found =
          FindAttention(ProgramOf(ApplyPrecision(*graph, precision).graph), kLargestHead);
      ASSERT_EQ(found.size(), 1u) << shares_keys;
      EXPECT_TRUE(found[0].forward.has_value());
      EXPECT_TRUE(found[0].backward.has_value());
    }
  }
}

bool Names(const Step& step, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), step.name) != names.end();
}

// The program with copies of these forward steps in front of the backward pass, from which it reads.
Program WithAgain(Program program, const std::vector<std::string>& names) {
  std::map<ValueId, ValueId> again;
  const auto renamed = [&](std::vector<ValueId>& values) {
    for (ValueId& value : values) {
      if (const auto found = again.find(value); found != again.end()) value = found->second;
    }
  };
  std::vector<Step> copies;
  for (const Step& step : program.steps) {
    if (!Names(step, names)) continue;
    copies.push_back(step);
    copies.back().name += ".again";
    copies.back().phase = Phase::kBackward;
    Compute& compute = std::get<Compute>(copies.back().action);
    renamed(compute.inputs);
    Value value = program.value(compute.output);
    value.name += ".again";
    program.values.push_back(value);
    again[compute.output] = ValueId(static_cast<int64_t>(program.values.size()) - 1);
    compute.output = again[compute.output];
  }
  const auto backward = std::find_if(program.steps.begin(), program.steps.end(),
                                     [](const Step& step) { return step.phase == Phase::kBackward; });
  for (auto step = backward; step != program.steps.end(); ++step) {
    if (Compute* compute = std::get_if<Compute>(&step->action)) renamed(compute->inputs);
  }
  program.steps.insert(backward, copies.begin(), copies.end());
  return program;
}

TEST(FindAttention, TheGradientTakesScoresThatAreComputedAgain) {
  const Program program = WithAgain(Trained({}), {"product", "scaled", "masked", "weights"});
  const std::vector<Attention> found = FindAttention(program, kLargestHead);
  ASSERT_EQ(found.size(), 2u);
  ASSERT_TRUE(found[0].forward.has_value());
  EXPECT_EQ(NamesOf(program, found[0].forward->steps), "product scaled masked weights mixed");
  EXPECT_FALSE(found[0].backward.has_value());
  EXPECT_FALSE(found[1].forward.has_value());
  ASSERT_TRUE(found[1].backward.has_value());
  const AttentionBackward& backward = *found[1].backward;
  EXPECT_EQ(backward.steps.size(), 11u);
  EXPECT_EQ(program.value(backward.inputs.v).name, "v");
  EXPECT_EQ(program.value(backward.v_gradient).name, "v.grad");
  // Neither the scores nor the weights of either pass are in memory.
  const Storage storage = PlanStorage(program, Fuse(program, {.largest_attention_head = kLargestHead}));
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    const Value& value = program.value(ValueId(i));
    EXPECT_FALSE(value.type.shape == (Shape{2, 6, 6}) && storage.root[ValueId(i)].has_value()) << value.name;
  }
}

TEST(FindAttention, WhatIsComputedAgainWithItsResultIsBothPieces) {
  Program program = WithAgain(Trained({}), {"product", "scaled", "masked", "weights", "mixed"});
  const std::vector<Attention> found = FindAttention(program, kLargestHead);
  ASSERT_EQ(found.size(), 2u);
  ASSERT_TRUE(found[1].forward.has_value());
  EXPECT_EQ(NamesOf(program, found[1].forward->steps),
            "product.again scaled.again masked.again weights.again mixed.again");
  ASSERT_TRUE(found[1].backward.has_value());
  EXPECT_EQ(found[1].backward->steps.size(), 7u);
}

TEST(FindAttention, TheGradientReadsQueriesThatAreComputedAgain) {
  const Graph graph = *Differentiate(Model({.computed = true}), TestOptimizer());
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(1));
  for (const char* op : {"q.square", "k.square", "v.square"}) {
    plan.ops[*graph.Find(op)].retention = Retention::kRecompute;
  }
  const Program program = *Partition(graph, plan);
  const std::vector<Attention> found = FindAttention(program, kLargestHead);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].forward.has_value());
  ASSERT_TRUE(found[0].backward.has_value());
  EXPECT_EQ(program.value(found[0].forward->inputs.q).name, "q.square");
  EXPECT_EQ(program.value(found[0].backward->inputs.q).name, "q.square.again");
  EXPECT_EQ(program.value(found[0].backward->inputs.k).name, "k.square.again");
  EXPECT_EQ(program.value(found[0].backward->inputs.v).name, "v.square.again");
}

TEST(FindAttention, LeavesWhatIsComputedAgainFromKeptScores) {
  EXPECT_TRUE(FindAttention(WithAgain(Trained({}), {"weights"}), kLargestHead).empty());
}

// As with a cast of a gradient to f32, which stands behind the product that makes it and before the others.
TEST(FindAttention, ResultsMayBeReadBetweenItsSteps) {
  Program program = Trained({});
  const AttentionBackward whole = *FindAttention(program, kLargestHead)[0].backward;
  std::vector<int> results;
  for (const int i : whole.steps) {
    const ValueId output = ComputeOf(program.steps[static_cast<size_t>(i)])->output;
    if (output == whole.q_gradient || output == whole.k_gradient) results.push_back(i);
  }
  ASSERT_EQ(results.size(), 2u);
  // A reader of the first of the two, right behind it.
  Step reader = program.steps[static_cast<size_t>(results[0])];
  Compute& compute = std::get<Compute>(reader.action);
  reader.name = "reader";
  compute.kind = OpKind::kScale;
  compute.attributes = {};
  compute.attributes.Set(attribute::kFactor, 2.0);
  compute.inputs = {compute.output};
  program.values.push_back(program.value(compute.output));
  compute.output = ValueId(static_cast<int64_t>(program.values.size()) - 1);
  program.steps.insert(program.steps.begin() + results[0] + 1, reader);
  const std::vector<Attention> found = FindAttention(program, kLargestHead);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].backward.has_value());
  EXPECT_EQ(found[0].backward->place, results[0]);
  const Fusion fusion = Fuse(program, {.largest_attention_head = kLargestHead});
  EXPECT_LT(fusion.written_by[whole.k_gradient], fusion.written_by[compute.output]);
}

TEST(Fuse, AttentionKeepsScoresAndWeightsOutOfMemory) {
  const Program program = Trained({});
  EXPECT_EQ(Fuse(program).stages, Fuse(program, {.largest_attention_head = 0}).stages);
  const Fusion fusion = Fuse(program, {.largest_attention_head = kLargestHead});
  const Storage storage = PlanStorage(program, fusion);
  EXPECT_LT(storage.buffers.total, PlanStorage(program, Fuse(program)).buffers.total);
  int pieces = 0;
  for (const FusedStage& stage : fusion.stages) {
    pieces += std::holds_alternative<AttentionForward>(stage.action);
    pieces += std::holds_alternative<AttentionBackward>(stage.action);
  }
  EXPECT_EQ(pieces, 2);
  for (int i = 0; i < static_cast<int>(program.values.size()); ++i) {
    const TensorType& type = program.value(ValueId(i)).type;
    const bool is_scores = type.shape == Shape{2, 6, 6};
    EXPECT_TRUE(!is_scores || !storage.root[ValueId(i)].has_value()) << program.value(ValueId(i)).name;
  }
}

}  // namespace
}  // namespace cleave::ir
