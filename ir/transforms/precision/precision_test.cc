#include "ir/transforms/precision/precision.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"
#include "ir/graph/text.h"
#include "ir/testing/random_graph.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/differentiate/models.h"
#include "ir/transforms/precision/policy.h"

namespace cleave::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Graph Trained(Graph forward, const TestOptimizer& optimizer = {}) {
  absl::StatusOr<Graph> graph = Differentiate(std::move(forward), optimizer);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

Graph InBf16(const Graph& training) {
  Graph graph = ApplyPrecision(training, Precision::kBf16).graph;
  EXPECT_THAT(VerifyGraph(graph), IsEmpty());
  return graph;
}

DType TypeOf(const Graph& graph, const std::string& name) {
  const std::optional<OpId> op = graph.Find(name);
  EXPECT_TRUE(op.has_value()) << "no `" << name << "` in\n" << GraphText(graph);
  return op.has_value() ? graph.op(*op).type.dtype : DType::kI32;
}

std::vector<std::string> ReadBy(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (OpId input : graph.op(*graph.Find(name)).inputs) names.push_back(graph.op(input).name);
  return names;
}

std::vector<std::string> Casts(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kCast) names.push_back(absl::StrCat(op.name, " ", PhaseName(op.phase)));
  }
  return names;
}

// A model of one product, then whatever `rest` makes of it, then the mean of all of that.
Graph AfterProduct(OpId (*rest)(GraphBuilder& builder, OpId x)) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{4, 6}}, {attribute::kData, "x"}}, "x");
  const OpId weight = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{6, 8}}}, "weight");
  const OpId y = builder.Add(OpKind::kMatmul, {x, weight}, {}, "y");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {rest(builder, y)}, {}, "loss");
  return InBf16(Trained(std::move(builder).Build()));
}

// Embedding, two blocks of two products with residuals, then logits; a router ranks the experts of each place.
Graph Blocks() {
  GraphBuilder builder;
  const OpId tokens = AddInput(builder, "tokens", {4, 16}, DType::kI32);
  const OpId next = AddInput(builder, "next", {4, 16}, DType::kI32);
  OpId x = builder.Add(OpKind::kEmbedding, {tokens, AddParameter(builder, "table", {32, 16})}, {}, "x");
  const auto product = [&](OpId input, const std::string& name, const Shape& shape) {
    return builder.Add(OpKind::kMatmul, {input, AddParameter(builder, absl::StrCat(name, ".weight"), shape)},
                       {{attribute::kTransposeB, true}}, name);
  };
  for (const std::string block : {"a", "b"}) {
    const OpId up = builder.Add(OpKind::kGelu, {product(x, absl::StrCat(block, ".up"), {48, 16})}, {}, block);
    x = builder.Add(OpKind::kAdd, {x, product(up, absl::StrCat(block, ".down"), {16, 48})}, {},
                    absl::StrCat(block, ".sum"));
  }
  const OpId odd = product(product(x, "narrow", {12, 16}), "wide", {16, 12});
  const OpId probability = builder.Add(OpKind::kSoftmax, {product(odd, "router", {16, 16})}, {}, "probability");
  const OpId best = builder.Add(OpKind::kTopK, {probability}, {{attribute::kK, 1}}, "best");
  const OpId weighed = builder.Add(OpKind::kMul, {odd, best}, {}, "weighed");
  const OpId logits = product(weighed, "logits", {32, 16});
  builder.mutable_graph().loss = builder.Add(OpKind::kCrossEntropy, {logits, next}, {}, "loss");
  return std::move(builder).Build();
}

std::vector<std::string> NamesOf(const Graph& graph, OpKind kind) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.kind == kind) names.push_back(op.name);
  }
  return names;
}

// Not what ranks, not logits, not sizes that are no multiples of 16.
TEST(PrecisionTest, In8BitsAreProductsByWeightsWithinTheModel) {
  const Graph training = Trained(Blocks());
  const Lowered lowered = ApplyPrecision(training, Precision::kFp8);
  const Graph& graph = lowered.graph;
  EXPECT_THAT(VerifyGraph(graph), IsEmpty());
  std::set<std::string> forward;
  for (const std::string& name : NamesOf(graph, OpKind::kScaledMatmul)) {
    if (graph.op(*graph.Find(name)).phase == Phase::kForward) forward.insert(name);
  }
  EXPECT_EQ(forward, (std::set<std::string>{"a.up", "a.down", "b.up", "b.down"}));
  // Each factor is made once: of four products four inputs, four weights and four gradients.
  EXPECT_EQ(NamesOf(graph, OpKind::kQuantize).size(), 12u);
  EXPECT_EQ(NamesOf(graph, OpKind::kReduceMaxAbs).size(), 12u);
  EXPECT_EQ(NamesOf(graph, OpKind::kScaledMatmulSum).size(), 4u);
  EXPECT_THAT(ReadBy(graph, "a.down"), ElementsAre("a.f8e4m3", "a.down.weight.f8e4m3", "a.unit", "a.down.weight.unit"));
  EXPECT_EQ(TypeOf(graph, "a.down"), DType::kBf16);
  for (const std::string& name : NamesOf(graph, OpKind::kScaledMatmulSum)) {
    const std::vector<OpId>& inputs = graph.op(*graph.Find(name)).inputs;
    EXPECT_EQ(graph.op(inputs[0]).type.dtype, DType::kF8E5M2) << name;
    EXPECT_EQ(graph.op(inputs[1]).type.dtype, DType::kF8E4M3) << name;
    EXPECT_EQ(TypeOf(graph, name), DType::kF32);
  }
  // Each op has its place, and what makes factors belongs to values of the given graph.
  for (const Op& op : training.ops) EXPECT_EQ(graph.op(lowered.places[op.id]).name, op.name);
  for (const InsertedCast& inserted : lowered.casts) {
    const std::string& old_name = training.op(inserted.old_value).name;
    EXPECT_TRUE(absl::StartsWith(graph.op(inserted.cast).name, absl::StrCat(old_name, ".")))
        << graph.op(inserted.cast).name << " of " << old_name;
  }
}

TEST(PrecisionTest, ProductsByKeptWeightsStayInBf16) {
  const std::vector<std::string> kept = {"*.down.weight"};
  const Graph graph = ApplyPrecision(Trained(Blocks()), Precision::kFp8, kept).graph;
  for (const char* const name : {"a.up", "b.up"}) {
    EXPECT_EQ(graph.op(*graph.Find(name)).kind, OpKind::kScaledMatmul) << name;
  }
  for (const char* const name : {"a.down", "b.down"}) {
    EXPECT_EQ(graph.op(*graph.Find(name)).kind, OpKind::kMatmul) << name;
  }
}

// Of two weights of products one is trained; a third one, which is not, is read in f32 too.
TEST(PrecisionTest, WhatNothingChangesIsStoredIn16Bits) {
  GraphBuilder builder;
  OpId x = AddInput(builder, "x", {4, 6});
  for (const char* const name : {"frozen", "trained", "squared"}) {
    const OpId weight = AddParameter(builder, name, {6, 6}, {{attribute::kTrained, *name == 't'}});
    x = builder.Add(OpKind::kMatmul, {x, weight}, {}, absl::StrCat(name, ".product"));
    if (*name != 's') continue;
    const OpId square = builder.Add(OpKind::kSquare, {weight}, {}, "square");
    x = builder.Add(OpKind::kAdd, {x, builder.Add(OpKind::kReduceSum, {square}, {}, "sum")}, {}, "y");
  }
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {x}, {}, "loss");
  const Graph training = Trained(std::move(builder).Build());
  const Graph graph = InBf16(training);
  EXPECT_EQ(TypeOf(graph, "frozen"), DType::kBf16);
  EXPECT_FALSE(graph.Find("frozen.bf16").has_value());
  EXPECT_EQ(TypeOf(graph, "trained"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "squared"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "squared.bf16"), DType::kBf16);
  EXPECT_EQ(TypeOf(InF32(graph), "frozen"), DType::kF32);
}

// Tokens look up rows of a table that a product reads, too; without a loss it is rounded, and the rows are read as they
// are. What a step remembers is rounded when it is stored.
TEST(PrecisionTest, TablesAndCachesAreStoredIn16Bits) {
  for (const bool has_loss : {false, true}) {
    GraphBuilder builder;
    const OpId table = AddParameter(builder, "table", {9, 6}, {{attribute::kTrained, false}});
    const OpId tokens = builder.Add(
        OpKind::kInput, {},
        {{attribute::kShape, Shape{1, 2}}, {attribute::kDType, DType::kI32}, {attribute::kData, std::string("tokens")}},
        "tokens");
    const OpId places = builder.Add(
        OpKind::kInput, {},
        {{attribute::kShape, Shape{2}}, {attribute::kDType, DType::kI32}, {attribute::kData, std::string("place")}},
        "place");
    const OpId x = builder.Add(OpKind::kEmbedding, {tokens, table}, {}, "x");
    const OpId cache = builder.Add(OpKind::kState, {}, {{attribute::kShape, Shape{1, 5, 6}}}, "cache");
    const OpId cached = builder.Add(OpKind::kScatter, {cache, x, places}, {{attribute::kAxis, 1}}, "cached");
    builder.mutable_graph().updates.push_back({.state = cache, .value = cached});
    const OpId scores = builder.Add(OpKind::kMatmul, {x, cached}, {{attribute::kTransposeB, true}}, "scores");
    const OpId logits = builder.Add(OpKind::kMatmul, {x, table}, {{attribute::kTransposeB, true}}, "logits");
    const OpId sums = builder.Add(OpKind::kAdd,
                                  {builder.Add(OpKind::kReduceSum, {scores}, {}, "sum_of_scores"),
                                   builder.Add(OpKind::kReduceSum, {logits}, {}, "sum_of_logits")},
                                  {}, "sums");
    if (has_loss) builder.mutable_graph().loss = sums;
    const Graph before = std::move(builder).Build();
    const Graph graph = InBf16(before);
    EXPECT_EQ(TypeOf(graph, "table"), has_loss ? DType::kF32 : DType::kBf16);
    EXPECT_EQ(TypeOf(graph, "x"), DType::kF32);
    EXPECT_EQ(TypeOf(graph, "cache"), DType::kBf16);
    EXPECT_EQ(TypeOf(graph, "cached"), DType::kBf16);
    EXPECT_THAT(ReadBy(graph, "cached"), ElementsAre("cache", "x", "place"));
    EXPECT_EQ(InF32(graph), before);
  }
}

TEST(PrecisionTest, F32AndTf32LeaveTheGraphAsItIs) {
  const Graph graph = Trained(MlpGraph());
  for (Precision precision : {Precision::kF32, Precision::kTf32}) {
    const Lowered lowered = ApplyPrecision(graph, precision);
    EXPECT_EQ(lowered.graph, graph);
    EXPECT_THAT(lowered.casts, IsEmpty());
    for (const Op& op : graph.ops) EXPECT_EQ(lowered.places[op.id], op.id);
  }
}

TEST(PrecisionTest, ProductsReadAndGiveBf16) {
  const Graph graph = InBf16(Trained(MlpGraph()));
  EXPECT_THAT(ReadBy(graph, "h1.matmul"), ElementsAre("image.flat.bf16", "h1.weight.bf16"));
  EXPECT_EQ(TypeOf(graph, "h1.matmul"), DType::kBf16);
  EXPECT_EQ(TypeOf(graph, "h1.bias_add"), DType::kBf16);
  EXPECT_EQ(TypeOf(graph, "h1"), DType::kBf16);
  EXPECT_THAT(ReadBy(graph, "h1.bias_add"), ElementsAre("h1.matmul", "h1.bias.bf16"));
}

TEST(PrecisionTest, LossesMetricsAndUpdatesAreInF32) {
  TestOptimizer adam;
  adam.kind = TestOptimizer::Kind::kAdam;
  const Graph graph = InBf16(Trained(MlpGraph(), adam));
  EXPECT_EQ(TypeOf(graph, "loss"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "accuracy"), DType::kF32);
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kUpdate && !op.inputs.empty()) continue;
    EXPECT_NE(op.type.dtype, DType::kBf16) << op.name;
  }
}

TEST(PrecisionTest, GradientsOfParametersAreAddedUpInF32) {
  const Graph graph = InBf16(Trained(MlpGraph()));
  const Op& weight = graph.op(*graph.Find("h1.weight.grad"));
  EXPECT_EQ(weight.type.dtype, DType::kF32);
  EXPECT_EQ(weight.attributes.Get(attribute::kResult), DType::kF32);
  for (OpId input : weight.inputs) EXPECT_EQ(graph.op(input).type.dtype, DType::kBf16);
  EXPECT_EQ(TypeOf(graph, "h1.bias.grad"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "h1.grad"), DType::kBf16);  // Of a value: the next product reads it.
}

TEST(PrecisionTest, BackwardProductsShareTheForwardCasts) {
  const Graph graph = InBf16(Trained(MlpGraph()));
  EXPECT_THAT(Casts(graph), ElementsAre("image.flat.bf16 forward", "h1.weight.bf16 forward", "h1.bias.bf16 forward",
                                        "logits.weight.bf16 forward"));
}

// Losses, sums and their like read the product's own value, and what only products read is rounded where it is made.
TEST(PrecisionTest, OpsThatTake16BitsNeedNoCasts) {
  const Graph graph = InBf16(Trained(MlpGraph()));
  EXPECT_EQ(ReadBy(graph, "loss")[0], "logits");
  EXPECT_EQ(ReadBy(graph, "accuracy")[0], "logits");
  EXPECT_EQ(TypeOf(graph, "logits.grad"), DType::kBf16);
  EXPECT_THAT(ReadBy(graph, "h1.bias.grad"), ElementsAre("h1.bias_add.grad"));
  const Graph moved = AfterProduct([](GraphBuilder& builder, OpId x) {
    const OpId rope = builder.Add(OpKind::kRope, {x}, {}, "rope");
    const OpId turned = builder.Add(OpKind::kTranspose, {rope}, {}, "turned");
    return builder.Add(OpKind::kMatmul, {turned, AddParameter(builder, "other", {4, 3})}, {}, "z");
  });
  EXPECT_THAT(ReadBy(moved, "rope"), ElementsAre("y"));
  EXPECT_EQ(TypeOf(moved, "rope"), DType::kBf16);
  EXPECT_EQ(TypeOf(moved, "turned"), DType::kBf16);
}

TEST(PrecisionTest, CastsOfParametersStandBeforeTheirFirstReader) {
  const Graph graph = InBf16(Trained(MlpGraph()));
  const OpId cast = *graph.Find("logits.weight.bf16");
  EXPECT_EQ(graph.Find("logits"), OpId(cast.value() + 1));
  // Nothing stands between a product and its bias.
  EXPECT_EQ(graph.Find("h1.bias_add"), OpId(graph.Find("h1.matmul")->value() + 1));
  EXPECT_EQ(graph.op(cast).line, graph.op(*graph.Find("logits.weight")).line);
}

TEST(PrecisionTest, OtherOpsReadF32) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    return builder.Add(OpKind::kCumsum, {x}, {{attribute::kAxis, 0}}, "sums");
  });
  EXPECT_THAT(ReadBy(graph, "sums"), ElementsAre("y.f32"));
  EXPECT_EQ(TypeOf(graph, "sums"), DType::kF32);
}

TEST(PrecisionTest, ASumWithF32StaysInF32) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    return builder.Add(OpKind::kAdd, {builder.Add(OpKind::kSoftmax, {x}, {}, "softmax"), x}, {}, "sum");
  });
  EXPECT_THAT(ReadBy(graph, "sum"), ElementsAre("softmax", "y.f32"));
  EXPECT_EQ(TypeOf(graph, "sum"), DType::kF32);
}

TEST(PrecisionTest, MovedParametersAreReadInBf16) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    const OpId bias = AddParameter(builder, "bias", {8});
    const OpId moved = builder.Add(OpKind::kReshape, {bias}, {{attribute::kShape, Shape{1, 8}}}, "moved");
    return builder.Add(OpKind::kAdd, {x, moved}, {}, "sum");
  });
  EXPECT_THAT(ReadBy(graph, "sum"), ElementsAre("y", "moved.bf16"));
  EXPECT_EQ(TypeOf(graph, "sum"), DType::kBf16);
}

TEST(PrecisionTest, ScalarsDoNotWiden) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    const OpId half = builder.Add(OpKind::kConstant, {}, {{attribute::kValue, 0.5}}, "half");
    return builder.Add(OpKind::kMaximum, {builder.Add(OpKind::kMul, {x, half}, {}, "product"), half}, {}, "bounded");
  });
  EXPECT_THAT(ReadBy(graph, "product"), ElementsAre("y", "half"));
  EXPECT_EQ(TypeOf(graph, "product"), DType::kBf16);
  EXPECT_EQ(TypeOf(graph, "bounded"), DType::kBf16);
}

TEST(PrecisionTest, MovementKeepsTheType) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    const OpId turned = builder.Add(OpKind::kTranspose, {x}, {}, "turned");
    const OpId wide = builder.Add(OpKind::kConcat, {turned, turned}, {{attribute::kAxis, 0}}, "wide");
    return builder.Add(OpKind::kReshape, {wide}, {{attribute::kShape, Shape{64}}}, "flat");
  });
  for (const char* name : {"turned", "wide", "flat"}) EXPECT_EQ(TypeOf(graph, name), DType::kBf16) << name;
}

TEST(PrecisionTest, WhatOnlyMetricsReadIsCastForMetrics) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{4, 6}}, {attribute::kData, "x"}}, "x");
  const OpId y = builder.Add(OpKind::kMatmul, {x, AddParameter(builder, "weight", {6, 8})}, {}, "y");
  builder.SetPhase(Phase::kMetric);
  builder.mutable_graph().metrics.push_back(
      {.name = "mean",
       .value = builder.Add(OpKind::kReduceMean, {builder.Add(OpKind::kCumsum, {y}, {{attribute::kAxis, 0}}, "sums")},
                            {}, "mean")});
  builder.SetPhase(Phase::kForward);
  const OpId z = builder.Add(OpKind::kMatmul, {y, AddParameter(builder, "other", {8, 3})}, {}, "z");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {z}, {}, "loss");
  const Graph graph = InBf16(Trained(std::move(builder).Build()));
  EXPECT_EQ(graph.op(*graph.Find("y.f32")).phase, Phase::kMetric);
  EXPECT_EQ(graph.Find("sums"), OpId(graph.Find("y.f32")->value() + 1));
}

TEST(PrecisionTest, WholeNumbersStayWhole) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    const OpId best = builder.Add(OpKind::kArgmax, {x}, {}, "best");
    const OpId real = builder.Add(OpKind::kCast, {best}, {{attribute::kDType, DType::kF32}}, "real");
    return builder.Add(
        OpKind::kAdd,
        {builder.Add(OpKind::kReduceMean, {x}, {}, "mean"), builder.Add(OpKind::kReduceMean, {real}, {}, "mean_best")},
        {}, "both");
  });
  EXPECT_THAT(ReadBy(graph, "best"), ElementsAre("y.f32"));
  EXPECT_EQ(TypeOf(graph, "best"), DType::kI32);
  EXPECT_EQ(TypeOf(graph, "real"), DType::kF32);
}

TEST(PrecisionTest, ConvolutionsReadBf16) {
  const Graph graph = InBf16(Trained(ImageGraph()));
  EXPECT_THAT(ReadBy(graph, "c1.conv2d"), ElementsAre("image.bf16", "c1.filter.bf16"));
  EXPECT_EQ(TypeOf(graph, "c1.add"), DType::kBf16);
  EXPECT_EQ(TypeOf(graph, "c1.pool"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "c1.filter.grad"), DType::kF32);
  EXPECT_EQ(graph.op(*graph.Find("c1.filter.grad")).attributes.Get(attribute::kResult), DType::kF32);
}

// The residual sum is in f32 and the product beside it in bf16: the chain of sums of their gradients holds its casts.
TEST(PrecisionTest, SumsOfGradientsAreInF32) {
  const Graph graph = InBf16(Trained(AttentionGraph()));
  EXPECT_EQ(TypeOf(graph, "residual"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "x.grad"), DType::kF32);
  EXPECT_EQ(TypeOf(graph, "table.grad"), DType::kF32);
}

// A backward cast is cut like the forward cast of the value whose gradient it casts.
TEST(PrecisionTest, BackwardCastsInherit) {
  const Graph graph = AfterProduct([](GraphBuilder& builder, OpId x) {
    return builder.Add(OpKind::kCumsum, {x}, {{attribute::kAxis, 0}}, "sums");
  });
  const Op& cast = graph.op(*graph.Find("y.grad.bf16"));
  ASSERT_TRUE(cast.inherits.has_value());
  EXPECT_EQ(graph.op(cast.inherits->op).name, "y.f32");
  EXPECT_THAT(cast.inherits->factors, ElementsAre(0, 1));
}

TEST(PrecisionTest, TextGoesAroundAndBack) {
  const Graph graph = InBf16(Trained(AttentionGraph()));
  const std::string text = GraphText(graph);
  EXPECT_THAT(text, ::testing::HasSubstr("bf16["));
  const absl::StatusOr<Graph> parsed = ParseGraph(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, graph);
}

TEST(PrecisionTest, PinsAndRegionsMove) {
  const Graph training = Trained(MlpGraph());
  const OpId matmul = *training.Find("h1.matmul");
  const OpId relu = *training.Find("h1");
  Pins pins;
  pins.pins.push_back({.op = matmul, .demand = ReplicatePin{}, .span = {}});
  pins.priorities.push_back({.op = relu, .value = 2});
  pins.regions.push_back({.name = "h1", .ops = {matmul, *training.Find("h1.bias_add"), relu}, .span = {}});
  const Lowered lowered = ApplyPrecision(training, Precision::kBf16);
  const Pins moved = MovePins(pins, lowered);
  EXPECT_EQ(lowered.graph.op(moved.pins[0].op).name, "h1.matmul");
  EXPECT_EQ(lowered.graph.op(moved.priorities[0].op).name, "h1");
  std::vector<std::string> region;
  for (OpId op : moved.regions[0].ops) region.push_back(lowered.graph.op(op).name);
  EXPECT_THAT(region, ElementsAre("h1.weight.bf16", "h1.bias.bf16", "h1.matmul", "h1.bias_add", "h1"));
}

TEST(PrecisionTest, ForwardCastsHaveTheRetentionOfTheirValues) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{4, 6}}, {attribute::kData, "x"}}, "x");
  const OpId weight = AddParameter(builder, "weight", {6, 8});
  const OpId sums = builder.Add(OpKind::kCumsum, {x}, {{attribute::kAxis, 0}}, "sums");
  const OpId product = builder.Add(OpKind::kMatmul, {sums, weight}, {}, "product");
  const OpId others = builder.Add(OpKind::kCumsum, {product}, {{attribute::kAxis, 0}}, "others");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {others}, {}, "loss");
  const Span place{.begin = 3, .end = 7};
  Pins pins;
  pins.retentions = {{.op = sums, .retention = Retention::kRecompute, .span = place},
                     {.op = product, .retention = Retention::kKeep, .span = {}}};
  const Lowered lowered = ApplyPrecision(Trained(std::move(builder).Build()), Precision::kBf16);
  std::vector<std::string> moved;
  for (const RetentionPin& pin : MovePins(pins, lowered).retentions) {
    EXPECT_EQ(pin.span == place, pin.retention == Retention::kRecompute);
    moved.push_back(absl::StrCat(lowered.graph.op(pin.op).name, " ", RetentionName(pin.retention)));
  }
  EXPECT_THAT(moved, ElementsAre("sums recompute", "sums.bf16 recompute", "product keep", "product.f32 keep"));
}

TEST(PrecisionTest, NamesThatAreTakenStay) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kInput, {}, {{attribute::kShape, Shape{4, 6}}, {attribute::kData, "x"}}, "x");
  const OpId weight = AddParameter(builder, "x.bf16", {6, 8});
  builder.mutable_graph().loss =
      builder.Add(OpKind::kReduceMean, {builder.Add(OpKind::kMatmul, {x, weight}, {}, "y")}, {}, "loss");
  const Graph graph = InBf16(Trained(std::move(builder).Build()));
  EXPECT_THAT(ReadBy(graph, "y"), ElementsAre("x.bf16_1", "x.bf16.bf16"));
}

// For every graph: the new graph is valid, no value is cast twice in one direction for one pass, the values without
// rounding stay the same, and InF32 gives the first graph again.
TEST(PrecisionTest, HoldsForRandomGraphs) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Graph graph = RandomTrainingGraph(random, {.ops = 12});
    const Lowered lowered = ApplyPrecision(graph, Precision::kBf16);
    ASSERT_THAT(VerifyGraph(lowered.graph), IsEmpty()) << "seed " << seed << "\n" << GraphText(lowered.graph);
    ASSERT_EQ(InF32(lowered.graph), graph) << "seed " << seed;
    std::set<std::string> casts;
    for (const InsertedCast& inserted : lowered.casts) {
      const Op& op = lowered.graph.op(inserted.cast);
      const bool is_new =
          casts.insert(absl::StrCat(op.inputs[0].value(), DTypeName(op.type.dtype), op.phase == Phase::kBackward))
              .second;
      EXPECT_TRUE(is_new) << "seed " << seed << ": " << op.name;
    }
  }
}

TEST(PrecisionTest, F16IsWhereBf16Is) {
  const Graph training = Trained(AttentionGraph());
  const std::string in_bf16 = GraphText(ApplyPrecision(training, Precision::kBf16).graph);
  const Graph in_f16 = ApplyPrecision(training, Precision::kF16).graph;
  EXPECT_EQ(absl::StrReplaceAll(in_bf16, {{"bf16", "f16"}}), GraphText(in_f16));
  EXPECT_EQ(GraphText(InF32(in_f16)), GraphText(training));
}

TEST(PolicyTest, OnlyProductsElementwiseOpsAndMovementReadBf16) {
  for (const OpDefinition* op : AllOps()) {
    if (op->treatment == Treatment::kProduct || op->treatment == Treatment::kGradient ||
        op->treatment == Treatment::kRounded) {
      EXPECT_EQ(op->op_class, OpClass::kProduct) << op->kind;
    }
    if (op->treatment == Treatment::kFollow) {
      EXPECT_TRUE(op->op_class == OpClass::kElementwise || op->op_class == OpClass::kMovement) << op->kind;
    }
  }
  EXPECT_EQ(DefinitionOf(OpKind::kMatmul).treatment, Treatment::kProduct);
  EXPECT_EQ(DefinitionOf(OpKind::kRelu).treatment, Treatment::kFollow);
}

}  // namespace
}  // namespace cleave::ir
