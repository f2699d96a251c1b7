#include "ir/ops/builder.h"

#include <set>

#include "gtest/gtest.h"

namespace cleave {
namespace {

OpId AddInput(GraphBuilder& builder, const Shape& shape, const std::string& name = "x") {
  return builder.Add("input", {}, {{"shape", shape}, {"data", name}}, name);
}

TEST(BuilderTest, InfersTypesAndFillsInDefaults) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  builder.SetLine(7);
  builder.SetPhase(Phase::kMetric);
  const OpId sum = builder.Add("reduce_sum", {x}, {}, "sum");
  const Op& op = builder.graph().op(sum);
  EXPECT_EQ(op.type, (TensorType{DType::kF32, {}}));
  EXPECT_FALSE(op.attributes.GetBool("keep_dims"));
  EXPECT_EQ(op.line, 7);
  EXPECT_EQ(op.phase, Phase::kMetric);
  EXPECT_TRUE(VerifyGraph(builder.graph()).empty());
}

TEST(BuilderTest, NamesAreUnique) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4});
  for (const char* expected : {"y", "y_1", "y_2"}) {
    EXPECT_EQ(builder.graph().op(builder.Add("relu", {x}, {}, "y")).name, expected);
  }
  GraphBuilder again(std::move(builder).Build());
  EXPECT_EQ(again.graph().op(again.Add("relu", {x}, {}, "y")).name, "y_3");
}

TEST(BuilderTest, RemovedOpsLeaveTheirNames) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  builder.Add("relu", {x}, {}, "y");
  const Graph before = builder.graph();
  const OpId second = builder.Add("relu", {x}, {}, "y");
  const OpId third = builder.Add("tanh", {second}, {}, "y");
  const std::vector<Op> removed = builder.RemoveFrom(second);
  EXPECT_EQ(builder.graph(), before);
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_EQ(removed[1].id, third);
  EXPECT_EQ(removed[1].name, "y_2");
  EXPECT_EQ(builder.graph().op(builder.Add("tanh", {x}, {}, "y")).name, "y_1");
}

TEST(BuilderTest, TryAddReturnsWhatIsWrong) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  const auto result = builder.TryAdd("matmul", {x, x}, {}, "y");
  ASSERT_TRUE(std::holds_alternative<OpError>(result));
  EXPECT_EQ(std::get<OpError>(result).code, Code::kE0401);
  EXPECT_EQ(builder.graph().ops.size(), 1u);
  EXPECT_DEATH(builder.Add("matmul", {x, x}, {}, "y"), "inner sizes 3 and 4");
}

TEST(TableTest, DefinitionsAreComplete) {
  std::set<std::string> names;
  for (const OpDefinition* op : AllOps()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(FindOp(op->name), op);
    EXPECT_FALSE(op->summary.empty()) << op->name;
    std::set<std::string> arguments;
    for (const Argument& argument : op->signature) {
      EXPECT_TRUE(arguments.insert(argument.name).second) << op->name << " " << argument.name;
    }
    const bool from_outside = op->name == "input" || op->name == "parameter" || op->name == "state" ||
                              op->rank_use == RankUse::kOthers;
    EXPECT_EQ(op->evaluate == nullptr, from_outside) << op->name;
    EXPECT_FALSE(op->callable && op->op_class == OpClass::kSource) << op->name;
  }
  EXPECT_EQ(FindOp("relo"), nullptr);
}

TEST(TableTest, RulesAsText) {
  GraphBuilder builder;
  auto rule = [&](const std::string& kind, std::vector<OpId> inputs, std::map<std::string, AttributeValue> attributes) {
    return RuleOf(builder.graph(),
                  builder.graph().op(builder.Add(kind, std::move(inputs), std::move(attributes), kind)))
        .ToString();
  };
  const OpId matrix = AddInput(builder, {6, 4});
  const OpId batch = AddInput(builder, {2, 6, 4});
  const OpId vector = AddInput(builder, {4});
  EXPECT_EQ(rule("matmul", {matrix, matrix}, {{"transpose_b", true}}), "i k, j k -> i j");
  EXPECT_EQ(rule("matmul", {batch, matrix}, {{"transpose_b", true}}), "b0 i k, j k -> b0 i j");
  EXPECT_EQ(rule("matmul", {batch, batch}, {{"transpose_a", true}}), "b0 k i, b0 k j -> b0 i j");
  EXPECT_EQ(rule("matmul_sum", {batch, batch}, {}), "b0 k i, b0 k j -> i j");
  EXPECT_EQ(rule("bias_add", {matrix, vector}, {}), "d0 d1, d1 -> d0 d1");
  EXPECT_EQ(rule("reshape", {matrix}, {{"shape", Shape{2, 12}}}), "(f0 f1) f2 -> f0 (f1 f2)");
  EXPECT_EQ(rule("reshape", {matrix}, {{"shape", Shape{3, 1, 8}}}), "(f0 f1) f2 -> f0 1 (f1 f2)");
  EXPECT_EQ(rule("flatten", {batch}, {}), "f0 f1 f2 -> f0 (f1 f2)");
  EXPECT_EQ(rule("reduce_mean", {batch}, {{"axes", Shape{1}}, {"keep_dims", true}}), "d0 d1 d2 -> d0 1 d2");
  EXPECT_EQ(rule("slice", {matrix}, {{"begin", Shape{0, 1}}, {"end", Shape{6, 3}}}), "d0 d1~ -> d0 d1");
  EXPECT_EQ(rule("pad", {matrix}, {{"before", Shape{0, 1}}, {"after", Shape{0, 0}}}), "d0 d1~ -> d0 d1");
  EXPECT_EQ(rule("concat", {matrix, matrix}, {{"axis", int64_t{0}}}), "d0~ d1, d0~ d1 -> d0 d1");
  EXPECT_EQ(rule("rope", {batch}, {}), "d0 d1 (h p) -> d0 d1 (h p)");
  const OpId indices = builder.Add("cast", {vector}, {{"dtype", std::string("i32")}}, "indices");
  EXPECT_EQ(rule("embedding", {indices, matrix}, {}), "d0, v e -> d0 e");
  EXPECT_EQ(rule("gather", {batch, indices}, {{"axis", int64_t{1}}}), "d0 v d2, i0 -> d0 i0 d2");
  EXPECT_EQ(rule("scatter_add", {matrix, indices}, {{"size", int64_t{9}}, {"axis", int64_t{1}}}), "d0 i0, i0 -> d0 v");
}

// A random op draws by its own name, its gradient by that of the op.
TEST(BuilderTest, KeysOfRandomOps) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {6, 4});
  const auto key = [&](OpId op) { return builder.graph().op(op).attributes.GetString("key"); };
  const OpId first = builder.Add("dropout", {x}, {{"rate", 0.5}}, "dropout");
  const OpId second = builder.Add("dropout", {x}, {{"rate", 0.5}}, "dropout");
  const OpId third = builder.Add("dropout", {x}, {{"rate", 0.5}, {"key", std::string("dropout")}}, "dropout");
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
  const OpId y = builder.Add("reshape", {x}, {{"shape", Shape{5, 3, 2}}}, "y");
  const Rule rule = RuleOf(builder.graph(), builder.graph().op(y));
  EXPECT_EQ(rule.ToString(), "f0 f1 f3 -> f0 f2 f4");
  EXPECT_EQ(rule.factors[0].kind, FactorKind::kParallel);
  for (size_t f = 1; f < rule.factors.size(); ++f) {
    EXPECT_EQ(rule.factors[f].kind, FactorKind::kWhole);
    EXPECT_TRUE(rule.factors[f].fixed_size);
  }
}

// What VerifyGraph says of a sound graph after one change.
std::vector<std::string> Spoiled(void (*spoil)(Graph& graph)) {
  GraphBuilder builder;
  const OpId x = AddInput(builder, {4, 3});
  const OpId y = builder.Add("relu", {x}, {}, "y");
  builder.mutable_graph().loss = builder.Add("reduce_sum", {y}, {}, "loss");
  EXPECT_TRUE(VerifyGraph(builder.graph()).empty());
  Graph graph = std::move(builder).Build();
  spoil(graph);
  return VerifyGraph(graph);
}

TEST(VerifyTest, FindsWhatIsWrong) {
  using Errors = std::vector<std::string>;
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].id = OpId(5); }), Errors{"%1 (y): its id is 5"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].name = "x"; }), Errors{"%1 (x): its name is taken"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].kind = "relo"; }), Errors{"%1 (y): unknown op `relo`"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].inputs = {OpId(1)}; }),
            Errors{"%1 (y): input %1 does not stand before it"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].type.shape = {4}; }),
            Errors{"%1 (y): is f32[4], inferred f32[4, 3]"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(2)].attributes.values.erase("axes"); }),
            Errors{"%2 (loss): attributes with defaults are missing"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.loss = OpId(1); }), Errors{"the loss is f32[4, 3], not a scalar"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.updates = {{.state = OpId(1), .value = OpId(1)}}; }),
            Errors{"update of y, which is no parameter and no state"});
  EXPECT_EQ(Spoiled([](Graph& graph) { graph.ops[OpId(1)].inherits = {.op = OpId(0), .factors = {0}}; }),
            Errors{"%1 (y): from maps 1 factors of 2"});
}

// What VerifyGraph says of a sound graph on 3 x 2 ranks after one change: %1 slices, %2 reduces, %3 is a number for
// each rank.
std::vector<std::string> SpoiledManual(void (*spoil)(Graph& graph)) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"dp", 3}, {"tp", 2}};
  const OpId x = builder.Add("parameter", {}, {{"shape", Shape{6}}}, "x");
  const OpId part = builder.Add(
      "rank_slice", {x}, {{"axis", int64_t{0}}, {"size", int64_t{1}}, {"starts", Shape{0, 1, 2, 3, 4, 5}}}, "part");
  const OpId sum = builder.Add("all_reduce", {part}, {{"group", std::string("dp tp")}, {"size", int64_t{6}}}, "sum");
  builder.Add("rank_value", {}, {{"values", std::vector<double>(6, 0.5)}}, "value");
  builder.mutable_graph().loss = builder.Add("reduce_sum", {sum}, {}, "loss");
  EXPECT_TRUE(VerifyGraph(builder.graph()).empty());
  Graph graph = std::move(builder).Build();
  spoil(graph);
  return VerifyGraph(graph);
}

TEST(VerifyTest, FindsWhatIsWrongWithRanks) {
  using Errors = std::vector<std::string>;
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.rank_axes.clear(); }),
            Errors{"%1 (part): it speaks of ranks in a model without ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) {
              graph.rank_axes.clear();
              graph.ops[OpId(0)].attributes.values["local"] = true;
            }),
            Errors{"%0 (x): it is local in a model without ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.rank_axes[1].size = 0; }), Errors{"rank axis `tp` of 0"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.rank_axes[1].size = 3; }),
            Errors{"%1 (part): a table of 6 for 9 ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.ops[OpId(2)].attributes.values["group"] = std::string("tp dp"); }),
            Errors{"%2 (sum): no group `tp dp`"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) { graph.ops[OpId(2)].attributes.values["size"] = int64_t{4}; }),
            Errors{"%2 (sum): group `dp tp` has 6 ranks, not 4"});
  EXPECT_EQ(
      SpoiledManual([](Graph& graph) { graph.ops[OpId(3)].attributes.values["values"] = std::vector<double>{1}; }),
      Errors{"%3 (value): a table of 1 for 6 ranks"});
  EXPECT_EQ(SpoiledManual([](Graph& graph) {
              graph.ops[OpId(2)].attributes.values["group"] = std::string("dp");
              graph.ops[OpId(2)].attributes.values["size"] = int64_t{3};
            }),
            Errors{"the loss varies over tp"});
}

// A state that is equal on all ranks takes no value that is not.
TEST(VerifyTest, UpdatesVaryAsTheirStates) {
  GraphBuilder builder;
  builder.mutable_graph().rank_axes = {{"world", 2}};
  const OpId x = builder.Add("parameter", {}, {{"shape", Shape{}}}, "x");
  const OpId local = builder.Add("parameter", {}, {{"shape", Shape{}}, {"local", true}}, "local");
  builder.mutable_graph().updates = {{.state = local, .value = x}, {.state = x, .value = local}};
  EXPECT_EQ(VerifyGraph(builder.graph()), (std::vector<std::string>{"update of x by a value that varies over world"}));
}

}  // namespace
}  // namespace cleave
