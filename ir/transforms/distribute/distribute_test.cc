#include "ir/transforms/distribute/distribute.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"
#include "ir/program/fuse/fuse.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/proof/interpret/interpret.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/chunks.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kSeed = 5;

struct SingleOpGraph {
  Graph graph;
  SourceValues sources;
  OpId op;
};

// `narrow`: the op reads and gives 16 bits where it can.
SingleOpGraph GraphOf(const Sample& sample, bool narrow) {
  GraphBuilder builder;
  SingleOpGraph result;
  std::vector<OpId> inputs;
  for (size_t i = 0; i < sample.types.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    inputs.push_back(builder.Add(OpKind::kInput, {},
                                 {{attribute::kDType, sample.types[i].dtype},
                                  {attribute::kShape, sample.types[i].shape},
                                  {attribute::kData, name}},
                                 name));
    result.sources[inputs.back()] = sample.inputs[i];
  }
  Attributes attributes = sample.attributes;
  if (narrow) {
    for (const int input : sample.op->reads_16_bits) {
      OpId& read = inputs[static_cast<size_t>(input)];
      read = builder.Add(OpKind::kCast, {read}, {{attribute::kDType, DType::kBf16}}, "narrow");
    }
    if (sample.op->gives_16_bits) attributes.Set(attribute::kResult, DType::kBf16);
  }
  result.op = builder.Add(sample.op->kind, inputs, std::move(attributes), "y");
  result.graph = std::move(builder).Build();
  return result;
}

OpPlan Planned(Strategy strategy) {
  OpPlan planned;
  planned.strategy = std::move(strategy);
  planned.decided_by = DecidedBy::kPin;
  return planned;
}

// The op cut at random, with at least one inner factor in two or more pieces; inputs whole, or partial where sums pass.
Plan RandomPlanOf(const SingleOpGraph& item, const Mesh& mesh, Random& random) {
  Plan plan;
  plan.mesh = mesh;
  for (const Op& op : item.graph.ops) {
    plan.ops.push_back(Planned(Strategy::Replicated(RuleOf(item.graph, op))));
  }
  const Rule rule = RuleOf(item.graph, item.graph.op(item.op));
  Strategy& strategy = plan.ops[item.op].strategy;
  while (!CutsInnerFactor(strategy, rule, mesh)) {
    strategy = Strategy::Replicated(rule);
    for (AxisId axis : mesh.AxisIds()) {
      const int factor = static_cast<int>(random() % (rule.factors.size() + 1));
      if (factor == static_cast<int>(rule.factors.size())) continue;
      const absl::StatusOr<Strategy> cut = WithCut(strategy, rule, mesh, factor, axis);
      if (cut.ok()) strategy = *cut;
    }
  }
  return plan;
}

void ExpectSame(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    if (actual.values[i] == expected.values[i]) continue;  // Infinite ones, too.
    ASSERT_NEAR(actual.values[i], expected.values[i], 1e-9 * (1 + std::abs(expected.values[i]))) << "element " << i;
  }
}

void CheckProgram(const SingleOpGraph& item, const Distributed& distributed, const Tensor& expected) {
  const absl::StatusOr<Program> program = Partition(distributed.graph, distributed.plan);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto values = InterpretProgram(*program, item.sources, 1);
  ASSERT_TRUE(values.ok()) << values.status();
  for (size_t i = 0; i < program->values.size(); ++i) {
    const Value& value = program->values[ValueId(static_cast<int64_t>(i))];
    if (value.origin != distributed.values[item.op] || value.layout.is_partial()) continue;
    for (int rank = 0; rank < program->mesh.rank_count(); ++rank) {
      ExpectSame((*values)[ValueId(static_cast<int64_t>(i))][static_cast<size_t>(rank)],
                 LocalPart(*program, value, expected, rank));
    }
  }
}

bool HasInnerFactor(const Sample& sample) {
  return std::any_of(sample.rule.factors.begin(), sample.rule.factors.end(),
                     [](const Factor& factor) { return factor.kind == FactorKind::kInner; });
}

// Both graphs must agree, and so must the ranks of the program that is made from the new one.
TEST(DistributeTest, FormsComputeTheSame) {
  Random random(kSeed);
  int tried = 0;
  for (const OpDefinition* op : AllOps()) {
    if (op->distribute == nullptr) continue;
    for (int round = 0; round < 10; ++round) {
      for (const Sample& sample : SamplesOf(op->kind, random)) {
        if (!HasInnerFactor(sample)) continue;
        for (int devices : {2, 3, 4, 6}) {
          SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", round ", round, ", ", devices, " ranks: ", sample.Text()));
          const SingleOpGraph item = GraphOf(sample, round % 2 == 1);
          const Plan plan = RandomPlanOf(item, Mesh::OfDevices(devices), random);
          const absl::StatusOr<Distributed> distributed = Distribute(item.graph, plan);
          ASSERT_TRUE(distributed.ok()) << distributed.status();
          ASSERT_EQ(VerifyGraph(distributed->graph), std::vector<std::string>());
          ASSERT_EQ(VerifyPlan(distributed->graph, distributed->plan), std::vector<std::string>());
          const Tensor expected = InterpretGraph(item.graph, item.sources, 1)[item.op];
          ExpectSame(InterpretGraph(distributed->graph, item.sources, 1)[distributed->values[item.op]], expected);
          CheckProgram(item, *distributed, expected);
          if (HasFatalFailure()) return;
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 1000);
}

// Every op with an inner factor has a distributed form, made of ops that can be cut as they are.
TEST(DistributeTest, InnerFactorsHaveForms) {
  Random random(kSeed);
  for (const OpDefinition* op : AllOps()) {
    // Attention has them where it is a ring.
    const std::vector<Sample> samples = SamplesOf(op->kind, random);
    EXPECT_EQ(std::any_of(samples.begin(), samples.end(), HasInnerFactor), op->distribute != nullptr) << op->kind;
  }
}

Plan WholePlan(const Graph& graph, const Mesh& mesh) {
  Plan plan;
  plan.mesh = mesh;
  for (const Op& op : graph.ops) {
    plan.ops.push_back(Planned(Strategy::Replicated(RuleOf(graph, op))));
  }
  return plan;
}

std::string Kinds(const Graph& graph) {
  std::string text;
  for (const Op& op : graph.ops) absl::StrAppend(&text, text.empty() ? "" : " ", OpKindName(op.kind));
  return text;
}

TEST(DistributeTest, LeavesAloneWhatNeedsNoOtherForm) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {6, 4});
  const OpId y = builder.Add(OpKind::kSoftmax, {x}, {}, "y");
  const OpId dx = builder.Add(OpKind::kSoftmaxGradient, {x, y}, {}, "dx");
  Graph graph = std::move(builder).Build();
  graph.ops[dx].inherits = Inheritance{.op = y, .factors = {0, 1}};
  graph.ops[dx].gradient_of = x;
  Plan plan = WholePlan(graph, Mesh::OfDevices(2));
  plan.ops[y].strategy.cuts[0] = {AxisId(0)};
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  EXPECT_EQ(distributed->graph, graph);
  EXPECT_EQ(distributed->plan, plan);
}

// Ops of the form that take 16 bits read what the op reads, others a cast; the result is rounded.
TEST(DistributeTest, FormsOfOpsIn16BitsComputeInF32) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {6, 4});
  const OpId narrow = builder.Add(OpKind::kCast, {x}, {{attribute::kDType, DType::kBf16}}, "narrow");
  const OpId y = builder.Add(OpKind::kSoftmax, {narrow}, {{attribute::kResult, DType::kBf16}}, "y");
  const Graph graph = std::move(builder).Build();
  Plan plan = WholePlan(graph, Mesh::OfDevices(2));
  plan.ops[y].strategy.cuts = {{}, {AxisId(0)}};
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  EXPECT_EQ(Kinds(distributed->graph), "input cast cast reduce_max sub exp reduce_sum div cast");
  EXPECT_EQ(distributed->graph.op(distributed->graph.ops[OpId(3)].inputs[0]).name, "narrow");
  EXPECT_EQ(distributed->graph.op(distributed->values[y]).type, graph.op(y).type);
}

TEST(DistributeTest, SoftmaxIsCutWithItsStatistics) {
  GraphBuilder builder;
  builder.SetLine(7);
  const OpId x = AddInput(builder, "x", {6, 4});
  const OpId y = builder.Add(OpKind::kSoftmax, {x}, {}, "y");
  const Graph graph = std::move(builder).Build();
  Plan plan = WholePlan(graph, Mesh::OfDevices(4));
  plan.ops[y].strategy.cuts = {{AxisId(0)}, {AxisId(1)}};
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  EXPECT_EQ(Kinds(distributed->graph), "input reduce_max sub exp reduce_sum div");
  const std::vector<std::string> layouts = {"[-, -]",   "[m0, -] partial(m1: max)", "[m0, m1]",
                                            "[m0, m1]", "[m0, -] partial(m1: sum)", "[m0, m1]"};
  for (const Op& op : distributed->graph.ops) {
    const Layout layout = OutputLayout(distributed->plan.ops[op.id].strategy, RuleOf(distributed->graph, op));
    EXPECT_EQ(LayoutText(layout, plan.mesh), layouts[static_cast<size_t>(op.id.value())]) << op.name;
    EXPECT_EQ(op.line, 7);
    if (op.id == OpId(0)) continue;
    EXPECT_EQ(distributed->plan.ops[op.id].reason, "distributed form of y");
    EXPECT_EQ(distributed->originals[op.id], y);
    EXPECT_EQ(op.name == "y" || absl::StartsWith(op.name, "y."), true) << op.name;
  }
  EXPECT_EQ(distributed->graph.op(distributed->values[y]).name, "y");
}

// The moments of a row are sent once, not once for the op and once for each of its gradients.
TEST(DistributeTest, GradientsTakeTheStatisticsOfTheirForwardOp) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {6, 4});
  const OpId scale = AddInput(builder, "scale", {4});
  const OpId y = builder.Add(OpKind::kLayerNorm, {x, scale, scale}, {}, "y");
  builder.SetPhase(Phase::kBackward);
  const OpId dx = builder.Add(OpKind::kLayerNormGradientInput, {y, x, scale}, {{attribute::kEpsilon, 1e-5}}, "dx");
  const OpId dscale = builder.Add(OpKind::kLayerNormGradientScale, {y, x}, {{attribute::kEpsilon, 1e-5}}, "dscale");
  Graph graph = std::move(builder).Build();
  for (OpId op : {dx, dscale}) graph.ops[op].inherits = Inheritance{.op = y, .factors = {0, 1}};
  Plan plan = WholePlan(graph, Mesh::OfDevices(2));
  for (OpId op : {y, dx, dscale}) plan.ops[op].strategy.cuts[1] = {AxisId(0)};
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  EXPECT_EQ(VerifyGraph(distributed->graph), std::vector<std::string>());
  const std::string kinds = Kinds(distributed->graph);
  size_t means = 0;
  for (const Op& op : distributed->graph.ops) means += op.kind == OpKind::kReduceMean;
  // Mean and variance, and the two of the gradient by the input.
  EXPECT_EQ(means, 4u) << kinds;
  SourceValues sources = RandomSources(graph, 1);
  const IdVector<OpId, Tensor> expected = InterpretGraph(graph, sources, 1);
  const IdVector<OpId, Tensor> actual = InterpretGraph(distributed->graph, sources, 1);
  for (OpId op : {y, dx, dscale}) ExpectSame(actual[distributed->values[op]], expected[op]);
}

// A partial sum that passes through an op passes through its distributed form.
TEST(DistributeTest, SumsPassThrough) {
  GraphBuilder builder;
  const OpId dy = AddInput(builder, "dy", {6, 4});
  const OpId y = AddInput(builder, "y", {6, 4});
  const OpId dx = builder.Add(OpKind::kSoftmaxGradient, {dy, y}, {}, "dx");
  const Graph graph = std::move(builder).Build();
  Plan plan = WholePlan(graph, Mesh::OfDevices(4));
  plan.ops[dx].strategy.cuts[1] = {AxisId(0)};
  plan.ops[dx].strategy.passes = {{.axis = AxisId(1), .group = 0}};
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  const Op& result = distributed->graph.op(distributed->values[dx]);
  const Layout layout = OutputLayout(distributed->plan.ops[result.id].strategy, RuleOf(distributed->graph, result));
  EXPECT_EQ(LayoutText(layout, plan.mesh), "[-, m0] partial(m1: sum)");
}

// Parts of a sum stay f32 through the ops that they pass, and are rounded when they are complete.
TEST(DistributeTest, SumsOf16BitsAreF32WhereAsked) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {6, 4});
  const OpId w = AddInput(builder, "w", {8, 4});
  const Attributes to_bf16 = {{attribute::kDType, DType::kBf16}};
  const OpId x16 = builder.Add(OpKind::kCast, {x}, to_bf16, "x.bf16");
  const OpId w16 = builder.Add(OpKind::kCast, {w}, to_bf16, "w.bf16");
  const OpId y = builder.Add(OpKind::kMatmul, {x16, w16}, {{attribute::kTransposeB, true}}, "y");
  const OpId z = builder.Add(OpKind::kScale, {y}, {{attribute::kFactor, 2.0}}, "z");
  const OpId cut = builder.Add(OpKind::kRelu, {z}, {}, "cut");
  const OpId whole = builder.Add(OpKind::kSquare, {z}, {}, "whole");
  Graph graph = std::move(builder).Build();
  graph.looks = {{.kind = LookKind::kPrint, .value = z, .name = "z"}};
  Plan plan = WholePlan(graph, Mesh::OfDevices(2));
  plan.ops[y].strategy.cuts[1] = {AxisId(0)};  // The contracted factor.
  plan.ops[z].strategy.passes = {{.axis = AxisId(0), .group = 0}};
  plan.ops[cut].strategy.cuts[0] = {AxisId(0)};
  const absl::StatusOr<Distributed> unasked = Distribute(graph, plan);
  ASSERT_TRUE(unasked.ok()) << unasked.status();
  EXPECT_EQ(unasked->graph, graph);
  graph.sums = DType::kF32;
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  EXPECT_EQ(VerifyGraph(distributed->graph), std::vector<std::string>());
  EXPECT_EQ(VerifyPlan(distributed->graph, distributed->plan), std::vector<std::string>());
  EXPECT_EQ(Kinds(distributed->graph), "input input cast cast matmul scale cast relu square");
  for (const OpId op : {y, z}) EXPECT_EQ(distributed->graph.op(distributed->values[op]).type.dtype, DType::kF32);
  for (const OpId op : {cut, whole}) EXPECT_EQ(distributed->graph.op(distributed->values[op]).type.dtype, DType::kBf16);
  const Op& rounded = distributed->graph.op(*distributed->graph.Find("z.bf16"));
  EXPECT_EQ(distributed->originals[rounded.id], z);
  EXPECT_EQ(distributed->graph.looks[0].value, rounded.id);
  const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::string> sent;
  for (const Step& step : program->steps) {
    if (const auto* collective = std::get_if<Collective>(&step.action)) {
      sent.push_back(absl::StrCat(CollectiveKindName(collective->kind), " of ",
                                  DTypeName(program->value(collective->transfers[0].input).type.dtype)));
    }
  }
  EXPECT_EQ(sent, (std::vector<std::string>{"reduce_scatter of f32", "all_gather of bf16"}));
}

TEST(DistributeTest, RolesFollow) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {6, 4});
  const OpId label = AddInput(builder, "label", {6}, DType::kI32);
  const OpId loss = builder.Add(OpKind::kCrossEntropy, {x, label}, {}, "loss");
  builder.SetPhase(Phase::kMetric);
  const OpId accuracy = builder.Add(OpKind::kAccuracy, {x, label}, {}, "accuracy");
  Graph graph = std::move(builder).Build();
  graph.loss = loss;
  graph.metrics = {{"accuracy", accuracy}};
  Plan plan = WholePlan(graph, Mesh::OfDevices(2));
  for (OpId op : {loss, accuracy}) plan.ops[op].strategy.cuts[1] = {AxisId(0)};
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  ASSERT_TRUE(distributed.ok()) << distributed.status();
  EXPECT_EQ(VerifyGraph(distributed->graph), std::vector<std::string>());
  EXPECT_EQ(distributed->graph.op(*distributed->graph.loss).kind, OpKind::kLabelLoss);
  EXPECT_EQ(distributed->graph.op(distributed->graph.metrics[0].value).kind, OpKind::kShareOfEqual);
  for (const Op& op : distributed->graph.ops) {
    EXPECT_EQ(op.phase, graph.op(distributed->originals[op.id]).phase) << op.name;
  }
}

// A product of rows that m0 divides, whose sums m1 divides, and what reads it whole or cut along `target`.
struct ChunkedProduct {
  SingleOpGraph item;
  Plan plan;
};

ChunkedProduct ProductOf(const Shape& x, int64_t chunks, std::optional<int> target, Random& random) {
  GraphBuilder builder;
  ChunkedProduct made;
  const auto input = [&](const Shape& shape, const std::string& name) {
    const OpId id =
        builder.Add(OpKind::kInput, {},
                    {{attribute::kDType, DType::kF32}, {attribute::kShape, shape}, {attribute::kData, name}}, name);
    Tensor& tensor = made.item.sources[id];
    tensor.shape = shape;
    for (int64_t i = 0; i < ElementCount(shape); ++i) tensor.values.push_back(static_cast<double>(random() % 64) - 32);
    return id;
  };
  const OpId rows = input(x, "x"), weight = input({6, x.back()}, "w");
  made.item.op = builder.Add(OpKind::kMatmul, {rows, weight},
                             {{attribute::kTransposeA, false}, {attribute::kTransposeB, true}}, "y");
  const OpId reader = builder.Add(OpKind::kRelu, {made.item.op}, {}, "z");
  made.item.graph = std::move(builder).Build();
  const Graph& graph = made.item.graph;
  made.plan.mesh = Mesh::Create({{.name = "m0", .size = 2}, {.name = "m1", .size = 2}}).value();
  for (const Op& op : graph.ops) made.plan.ops.push_back(Planned(Strategy::Replicated(RuleOf(graph, op))));
  const Rule rule = RuleOf(graph, graph.op(made.item.op));
  OpPlan& planned = made.plan.ops[made.item.op];
  planned.strategy.cuts[static_cast<size_t>(rule.output[0].front())] = {AxisId(0)};
  planned.strategy.cuts[static_cast<size_t>(rule.inputs[0].back().front())] = {AxisId(1)};
  planned.chunks = chunks;
  Strategy& read = made.plan.ops[reader].strategy;
  read.cuts[0] = {AxisId(0)};
  if (target.has_value()) read.cuts[static_cast<size_t>(*target)].push_back(AxisId(1));
  return made;
}

int CountOf(const Program& program, CollectiveKind kind) {
  return static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* const collective = std::get_if<Collective>(&step.action);
    return collective != nullptr && collective->kind == kind;
  }));
}

// Whether all ops of this kind lie in place.
bool LieInPlace(const Program& program, OpKind kind) {
  const Fusion fusion = Fuse(program);
  return std::all_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const Compute* const compute = ComputeOf(step);
    return compute == nullptr || compute->kind != kind || fusion.DoesNothing(step);
  });
}

TEST(ChunksTest, ComputeTheSameAndAreReducedOneByOne) {
  Random random(kSeed);
  struct Case {
    Shape x;
    int64_t chunks;
    std::optional<int> target;
    bool reads_in_place;
  };
  const std::vector<Case> cases = {
      {{8, 6}, 2, std::nullopt, true},     // Two chunks of two rows of four.
      {{4, 5, 6}, 2, std::nullopt, true},  // Of one sample each.
      {{4, 6, 8}, 4, std::nullopt, true},  // Of half a sample.
      {{2, 6, 8}, 3, std::nullopt, true},  // Of a third of the only sample.
      {{8, 6, 4}, 2, 0, false},            // Scattered along samples, of which two runs are read.
      {{2, 12, 4}, 3, 1, false},           // Along places.
      {{8, 6, 4}, 4, 2, true},             // Along columns.
  };
  for (const Case& own : cases) {
    SCOPED_TRACE(absl::StrCat(ShapeText(own.x), " in ", own.chunks));
    const ChunkedProduct made = ProductOf(own.x, own.chunks, own.target, random);
    ASSERT_EQ(WhyNotInChunks(made.item.graph, made.plan, made.item.op, own.chunks), std::nullopt);
    const absl::StatusOr<Distributed> distributed = Distribute(made.item.graph, made.plan);
    ASSERT_TRUE(distributed.ok()) << distributed.status();
    ASSERT_EQ(VerifyGraph(distributed->graph), std::vector<std::string>());
    ASSERT_EQ(VerifyPlan(distributed->graph, distributed->plan), std::vector<std::string>());
    const Tensor expected = InterpretGraph(made.item.graph, made.item.sources, 1)[made.item.op];
    ExpectSame(InterpretGraph(distributed->graph, made.item.sources, 1)[distributed->values[made.item.op]], expected);
    CheckProgram(made.item, *distributed, expected);
    const absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
    const CollectiveKind kind = own.target.has_value() ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
    EXPECT_EQ(CountOf(*program, kind), own.chunks);
    EXPECT_EQ(LieInPlace(*program, OpKind::kSlice), own.reads_in_place);
    EXPECT_TRUE(LieInPlace(*program, OpKind::kConcat));
  }
}

TEST(ChunksTest, SayWhyAProductIsNone) {
  Random random(kSeed);
  const auto why = [&](const ChunkedProduct& made, int64_t chunks) {
    return WhyNotInChunks(made.item.graph, made.plan, made.item.op, chunks).value_or("");
  };
  EXPECT_EQ(why(ProductOf({6, 5, 6}, 2, std::nullopt, random), 2), "the 3 rows of a rank are not 2 equal chunks");
  EXPECT_EQ(why(ProductOf({5, 5, 6}, 2, std::nullopt, random), 2), "ranks have unequal parts of its 5 rows");
  EXPECT_EQ(why(ProductOf({2, 6}, 2, std::nullopt, random), 2), "a rank has one row of it");
  ChunkedProduct made = ProductOf({8, 6}, 2, std::nullopt, random);
  made.plan.ops[made.item.op].strategy =
      Strategy::Replicated(RuleOf(made.item.graph, made.item.graph.op(made.item.op)));
  EXPECT_EQ(why(made, 2), "its sums are not divided between ranks");
}

// The proof compares the chunks with the product.
TEST(ChunksTest, MistakesAreFound) {
  Random random(kSeed);
  ChunkedProduct made = ProductOf({8, 6}, 2, std::nullopt, random);
  const auto proven = [&](const Distributed& distributed) {
    const absl::StatusOr<Program> program = Partition(distributed.graph, distributed.plan);
    return program.ok() && CheckStatically(*program).empty() &&
           CheckBySimulation(made.item.graph, distributed, *program).ok();
  };
  const Distributed distributed = *Distribute(made.item.graph, made.plan);
  EXPECT_TRUE(proven(distributed));
  const auto concat = std::find_if(distributed.graph.ops.begin(), distributed.graph.ops.end(),
                                   [](const Op& op) { return op.kind == OpKind::kConcat; });
  ASSERT_NE(concat, distributed.graph.ops.end());
  Distributed mutant = distributed;  // Chunks in another order.
  std::swap(mutant.graph.ops[concat->id].inputs[0], mutant.graph.ops[concat->id].inputs[1]);
  EXPECT_FALSE(proven(mutant));
  mutant = distributed;  // A chunk twice.
  mutant.graph.ops[concat->id].inputs[1] = concat->inputs[0];
  EXPECT_FALSE(proven(mutant));
  mutant = distributed;  // The rows of another chunk.
  for (Op& op : mutant.graph.ops) {
    if (op.kind != OpKind::kSlice) continue;
    op.attributes.Set(attribute::kBegin, {0, 0, 0, 0});
    op.attributes.Set(attribute::kEnd, {2, 1, 2, 6});
  }
  EXPECT_FALSE(proven(mutant));
  // A chunk that is not reduced.
  Program program = *Partition(distributed.graph, distributed.plan);
  for (Step& step : program.steps) {
    auto* const collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->kind != CollectiveKind::kAllReduce) continue;
    step.action = Slice{.input = collective->transfers[0].input, .output = collective->transfers[0].output};
    break;
  }
  EXPECT_FALSE(CheckStatically(program).empty());
}

}  // namespace
}  // namespace cleave::ir
