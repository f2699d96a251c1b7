#include "ir/graph/ops/builder.h"

#include <set>

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

OpId AddInput(GraphBuilder& builder, const Shape& shape, const std::string& name = "x") {
  return builder.Add(OpKind::kInput, {}, {{attribute::kShape, shape}, {attribute::kData, name}}, name);
}

TEST(BuilderTest, InfersTypesAndFillsInDefaults) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  builder.SetLine(7);
  builder.SetPhase(Phase::kMetric);
  const OpId sum = builder.Add(OpKind::kReduceSum, {x}, {}, "sum");
  const Op& op = builder.graph().op(sum);
  EXPECT_EQ(op.type, (TensorType{DType::kF32, {}}));
  EXPECT_FALSE(op.attributes.Get(attribute::kKeepDims));
  EXPECT_EQ(op.line, 7);
  EXPECT_EQ(op.phase, Phase::kMetric);
  EXPECT_TRUE(VerifyGraph(builder.graph()).empty());
}

TEST(BuilderTest, NamesAreUnique) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4});
  for (const char* expected : {"y", "y_1", "y_2"}) {
    EXPECT_EQ(builder.graph().op(builder.Add(OpKind::kRelu, {x}, {}, "y")).name, expected);
  }
  GraphBuilder again(std::move(builder).Build());
  EXPECT_EQ(again.graph().op(again.Add(OpKind::kRelu, {x}, {}, "y")).name, "y_3");
}

TEST(BuilderTest, RemovedOpsLeaveTheirNames) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  builder.Add(OpKind::kRelu, {x}, {}, "y");
  const Graph before = builder.graph();
  const OpId second = builder.Add(OpKind::kRelu, {x}, {}, "y");
  const OpId third = builder.Add(OpKind::kTanh, {second}, {}, "y");
  const std::vector<Op> removed = builder.RemoveFrom(second);
  EXPECT_EQ(builder.graph(), before);
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_EQ(removed[1].id, third);
  EXPECT_EQ(removed[1].name, "y_2");
  EXPECT_EQ(builder.graph().op(builder.Add(OpKind::kTanh, {x}, {}, "y")).name, "y_1");
}

TEST(BuilderTest, TryAddReturnsWhatIsWrong) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  const auto result = builder.TryAdd(OpKind::kMatmul, {x, x}, {}, "y");
  ASSERT_TRUE(std::holds_alternative<OpError>(result));
  EXPECT_EQ(std::get<OpError>(result).code, Code::kE0401);
  EXPECT_EQ(builder.graph().ops.size(), 1u);
  EXPECT_DEATH(builder.Add(OpKind::kMatmul, {x, x}, {}, "y"), "inner sizes 3 and 4");
}

TEST(TableTest, DefinitionsAreComplete) {
  std::set<std::string> names;
  for (const OpDefinition* op : AllOps()) {
    EXPECT_TRUE(names.insert(op->name()).second) << op->name();
    EXPECT_EQ(FindOp(op->name()), op);
    EXPECT_FALSE(op->summary.empty()) << op->name();
    std::set<std::string> arguments;
    for (const Argument& argument : op->signature) {
      EXPECT_TRUE(arguments.insert(argument.name).second) << op->name() << " " << argument.name;
    }
    const bool from_outside = op->kind == OpKind::kInput || op->kind == OpKind::kParameter ||
                              op->kind == OpKind::kState || op->rank_use == RankUse::kOthers;
    EXPECT_EQ(op->evaluate == nullptr, from_outside) << op->name();
    EXPECT_FALSE(op->callable && op->op_class == OpClass::kSource) << op->name();
  }
  EXPECT_EQ(FindOp("relo"), nullptr);
}

TEST(TableTest, RulesAsText) {
  GraphBuilder builder;
  auto rule = [&](OpKind kind, std::vector<OpId> inputs, Attributes attributes) {
    return RuleOf(builder.graph(),
                  builder.graph().op(builder.Add(kind, std::move(inputs), std::move(attributes), "op")))
        .ToString();
  };
  const OpId matrix = AddInput(builder, {6, 4});
  const OpId batch = AddInput(builder, {2, 6, 4});
  const OpId vector = AddInput(builder, {4});
  EXPECT_EQ(rule(OpKind::kMatmul, {matrix, matrix}, {{attribute::kTransposeB, true}}), "i k, j k -> i j");
  EXPECT_EQ(rule(OpKind::kMatmul, {batch, matrix}, {{attribute::kTransposeB, true}}), "b0 i k, j k -> b0 i j");
  EXPECT_EQ(rule(OpKind::kMatmul, {batch, batch}, {{attribute::kTransposeA, true}}), "b0 k i, b0 k j -> b0 i j");
  EXPECT_EQ(rule(OpKind::kMatmulSum, {batch, batch}, {}), "b0 k i, b0 k j -> i j");
  EXPECT_EQ(rule(OpKind::kBiasAdd, {matrix, vector}, {}), "d0 d1, d1 -> d0 d1");
  EXPECT_EQ(rule(OpKind::kReshape, {matrix}, {{attribute::kShape, Shape{2, 12}}}), "(f0 f1) f2 -> f0 (f1 f2)");
  EXPECT_EQ(rule(OpKind::kReshape, {matrix}, {{attribute::kShape, Shape{3, 1, 8}}}), "(f0 f1) f2 -> f0 1 (f1 f2)");
  EXPECT_EQ(rule(OpKind::kFlatten, {batch}, {}), "f0 f1 f2 -> f0 (f1 f2)");
  EXPECT_EQ(rule(OpKind::kReduceMean, {batch}, {{attribute::kAxes, Shape{1}}, {attribute::kKeepDims, true}}),
            "d0 d1 d2 -> d0 1 d2");
  EXPECT_EQ(rule(OpKind::kSlice, {matrix}, {{attribute::kBegin, Shape{0, 1}}, {attribute::kEnd, Shape{6, 3}}}),
            "d0 d1~ -> d0 d1");
  EXPECT_EQ(rule(OpKind::kPad, {matrix}, {{attribute::kBefore, Shape{0, 1}}, {attribute::kAfter, Shape{0, 0}}}),
            "d0 d1~ -> d0 d1");
  EXPECT_EQ(rule(OpKind::kConcat, {matrix, matrix}, {{attribute::kAxis, 0}}), "d0~ d1, d0~ d1 -> d0 d1");
  EXPECT_EQ(rule(OpKind::kRope, {batch}, {}), "d0 d1 (h p) -> d0 d1 (h p)");
  const OpId indices = builder.Add(OpKind::kCast, {vector}, {{attribute::kDType, DType::kI32}}, "indices");
  EXPECT_EQ(rule(OpKind::kEmbedding, {indices, matrix}, {}), "d0, v e -> d0 e");
  EXPECT_EQ(rule(OpKind::kGather, {batch, indices}, {{attribute::kAxis, 1}}), "d0 v d2, i0 -> d0 i0 d2");
  EXPECT_EQ(rule(OpKind::kScatterAdd, {matrix, indices}, {{attribute::kSize, 9}, {attribute::kAxis, 1}}),
            "d0 i0, i0 -> d0 v");
}

// A random op draws with its own name as the key, its gradient with the name of the op.
TEST(BuilderTest, KeysOfRandomOps) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {6, 4});
  const auto key = [&](OpId op) { return builder.graph().op(op).attributes.Get(attribute::kKey); };
  const OpId first = builder.Add(OpKind::kDropout, {x}, {{attribute::kRate, 0.5}}, "dropout");
  const OpId second = builder.Add(OpKind::kDropout, {x}, {{attribute::kRate, 0.5}}, "dropout");
  const OpId third =
      builder.Add(OpKind::kDropout, {x}, {{attribute::kRate, 0.5}, {attribute::kKey, "dropout"}}, "dropout");
  EXPECT_EQ(key(first), "dropout");
  EXPECT_EQ(key(second), "dropout_1");
  EXPECT_EQ(key(third), "dropout");
  const Op op = builder.graph().op(second);
  EXPECT_EQ(key(*DefinitionOf(op).gradient(builder, op, x)[0]), "dropout_1");
}

// Where the shapes have no common boundary nothing can be cut.
TEST(TableTest, ReshapeWithoutCommonRefinement) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {5, 2, 3});
  const OpId y = builder.Add(OpKind::kReshape, {x}, {{attribute::kShape, Shape{5, 3, 2}}}, "y");
  const Rule rule = RuleOf(builder.graph(), builder.graph().op(y));
  EXPECT_EQ(rule.ToString(), "f0 f1 f3 -> f0 f2 f4");
  EXPECT_EQ(rule.factors[0].kind, FactorKind::kParallel);
  for (size_t f = 1; f < rule.factors.size(); ++f) {
    EXPECT_EQ(rule.factors[f].kind, FactorKind::kWhole);
    EXPECT_TRUE(rule.factors[f].fixed_size);
  }
}

// The errors that VerifyGraph finds in a valid graph after one change.
std::vector<std::string> Spoiled(void (*spoil)(Graph& graph)) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  const OpId y = builder.Add(OpKind::kRelu, {x}, {}, "y");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceSum, {y}, {}, "loss");
  EXPECT_TRUE(VerifyGraph(builder.graph()).empty());
  Graph graph = std::move(builder).Build();
  spoil(graph);
  return VerifyGraph(graph);
}

TEST(VerifyTest, FindsWhatIsWrong) {
  using Errors = std::vector<std::string>;
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].id = OpId(5); }), Errors{"%1 (y): its id is 5"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].name = "x"; }), Errors{"%1 (x): its name is taken"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].inputs = {OpId(1)}; }),
            Errors{"%1 (y): input %1 does not stand before it"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].type.shape = {4}; }),
            Errors{"%1 (y): is f32[4], inferred f32[4, 3]"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(2)].attributes.EraseNamed("axes"); }),
            Errors{"%2 (loss): attributes with defaults are missing"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.loss = OpId(1); }), Errors{"the loss is f32[4, 3], not a scalar"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.updates = {{.state = OpId(1), .value = OpId(1)}}; }),
            Errors{"update of y, which is no parameter and no state"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].inherits = {.op = OpId(0), .factors = {0}}; }),
            Errors{"%1 (y): from maps 1 factors of 2"});
}

// The errors that VerifyGraph finds in a valid graph on 3 x 2 ranks after one change: %1 slices, %2 reduces, %3 is a
// number for each rank.
std::vector<std::string> SpoiledManual(void (*spoil)(Graph& graph)) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"dp", 3}, {"tp", 2}};
  const OpId x = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{6}}}, "x");
  const OpId part = builder.Add(
      OpKind::kRankSlice, {x},
      {{attribute::kAxis, 0}, {attribute::kSize, 1}, {attribute::kStarts, Shape{0, 1, 2, 3, 4, 5}}}, "part");
  const OpId sum =
      builder.Add(OpKind::kAllReduce, {part}, {{attribute::kGroup, "dp tp"}, {attribute::kSize, 6}}, "sum");
  builder.Add(OpKind::kRankValue, {}, {{attribute::kValues, std::vector<double>(6, 0.5)}}, "value");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceSum, {sum}, {}, "loss");
  EXPECT_TRUE(VerifyGraph(builder.graph()).empty());
  Graph graph = std::move(builder).Build();
  spoil(graph);
  return VerifyGraph(graph);
}

TEST(VerifyTest, FindsWhatIsWrongWithRanks) {
  using Errors = std::vector<std::string>;
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.rank_axes.clear(); }),
            Errors{"%1 (part): it names ranks in a model without ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) {
              graph.rank_axes.clear();
              graph.ops[OpId(0)].attributes.Set(attribute::kLocal, true);
            }),
            Errors{"%0 (x): it is local in a model without ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.rank_axes[1].size = 0; }), Errors{"rank axis `tp` of 0"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.rank_axes[1].size = 3; }),
            Errors{"%1 (part): a table of 6 for 9 ranks"});
  EXPECT_EQ(
      SpoiledManual([](Graph& graph) { graph.ops[OpId(2)].attributes.Set(attribute::kGroup, std::string("tp dp")); }),
      Errors{"%2 (sum): no group `tp dp`"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.ops[OpId(2)].attributes.Set(attribute::kSize, int64_t{4}); }),
            Errors{"%2 (sum): group `dp tp` has 6 ranks, not 4"});
  EXPECT_EQ(SpoiledManual(
                [](Graph& graph) { graph.ops[OpId(3)].attributes.Set(attribute::kValues, std::vector<double>{1}); }),
            Errors{"%3 (value): a table of 1 for 6 ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) {
              graph.ops[OpId(2)].attributes.Set(attribute::kGroup, std::string("dp"));
              graph.ops[OpId(2)].attributes.Set(attribute::kSize, int64_t{3});
            }),
            Errors{"the loss varies over tp"});
}

// A state that is equal on all ranks cannot take a value that is not.
TEST(VerifyTest, UpdatesVaryAsTheirStates) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"world", 2}};
  const OpId x = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{}}}, "x");
  const OpId local =
      builder.Add(OpKind::kParameter, {}, {{attribute::kShape, Shape{}}, {attribute::kLocal, true}}, "local");
  builder.mutable_graph().updates = {{.state = local, .value = x}, {.state = x, .value = local}};
  EXPECT_EQ(VerifyGraph(builder.graph()), (std::vector<std::string>{"update of x by a value that varies over world"}));
}

}  // namespace
}  // namespace cleave::ir
