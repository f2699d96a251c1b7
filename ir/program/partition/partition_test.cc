#include "ir/program/partition/partition.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/rewrite.h"
#include "ir/program/program.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/differentiate/differentiate.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

// ---- Models ----

struct DenseStack {
  std::vector<int64_t> widths;  // Of the input and of every layer.
  int64_t batch = 8;
  bool bias = true;
  bool input_is_parameter = false;  // Then it needs a gradient.
};

// x -> l1.matmul (-> l1.biased) -> l1 -> l2.matmul …, mse against a target of zeros that does not depend on parameters.
Graph Dense(const DenseStack& stack) {
  GraphBuilder builder;
  builder.mutable_graph().model = "Dense";
  builder.mutable_graph().file = "dense.model";
  builder.SetLine(1);
  const Shape input_shape = {stack.batch, stack.widths[0]};
  const Shape target_shape = {stack.batch, stack.widths.back()};
  OpId x = stack.input_is_parameter ? AddParameter(builder, "x", input_shape) : AddInput(builder, "x", input_shape);
  const OpId target = AddInput(builder, "target", target_shape);
  for (size_t layer = 1; layer < stack.widths.size(); ++layer) {
    builder.SetLine(static_cast<int>(layer) + 1);
    const std::string name = absl::StrCat("l", layer);
    const Shape shape = {stack.widths[layer], stack.widths[layer - 1]};
    const OpId weight = AddParameter(builder, name + ".weight", shape);
    x = builder.Add(OpKind::kMatmul, {x, weight}, {{attribute::kTransposeB, true}}, name + ".matmul");
    if (stack.bias) {
      const OpId bias = AddParameter(builder, name + ".bias", {stack.widths[layer]});
      x = builder.Add(OpKind::kBiasAdd, {x, bias}, {}, name + ".biased");
    }
    if (layer + 1 < stack.widths.size()) x = builder.Add(OpKind::kRelu, {x}, {}, name);
  }
  builder.SetLine(99);
  builder.mutable_graph().loss = builder.Add(OpKind::kMse, {x, target}, {}, "loss");
  return *Differentiate(std::move(builder).Build(), TestOptimizer{.kind = TestOptimizer::Kind::kMomentum});
}

// ---- Plans ----

// The parts of a plan that are given by hand. The rest follows: light ops from what they read, sources from their
// readers, backward ops from their forward ops, updates from the storage of their parameter.
struct Hand {
  std::map<std::string, std::map<std::string, std::string>>
      cuts;                                    // Op -> factor -> axes: {"l1.matmul", {{"i", "m0"}}}.
  std::map<std::string, std::string> storage;  // Source -> layout.
  std::map<std::string, std::string> output;   // Op -> the layout that consumers see.
};

class HandPlan {
 public:
  HandPlan(const Graph& graph, const Mesh& mesh, Hand hand) : graph_(graph), hand_(std::move(hand)) {
    plan_.mesh = mesh;
    plan_.ops = IdVector<OpId, OpPlan>(graph.ops.size());
    for (const Op& op : graph.ops) plan_.ops[op.id].strategy = Strategy::Replicated(RuleOf(graph, op));
  }

  Plan Make() && {
    for (const Op& op : graph_.ops) {
      if (!op.inputs.empty() && op.phase == Phase::kForward) Set(op, Forward(op));
    }
    for (const Op& op : graph_.ops) {
      if (op.inputs.empty()) Set(op, Source(op));
    }
    for (const Op& op : graph_.ops) {
      if (op.inputs.empty() || op.phase == Phase::kForward) continue;
      Set(op, op.phase == Phase::kUpdate ? OfLayout(op, StorageOf(op)) : Backward(op));
    }
    for (const std::string& error : VerifyPlan(graph_, plan_)) ADD_FAILURE() << error;
    return std::move(plan_);
  }

 private:
  void Set(const Op& op, Strategy strategy) {
    plan_.ops[op.id].strategy = std::move(strategy);
    if (hand_.output.count(op.name) > 0) plan_.ops[op.id].output = *ParseLayout(hand_.output[op.name], plan_.mesh);
  }

  Rule RuleAt(OpId op) const { return RuleOf(graph_, graph_.op(op)); }

  Layout Seen(OpId op) const {
    const OpPlan& op_plan = plan_.ops[op];
    Layout layout = op_plan.output.value_or(OutputLayout(op_plan.strategy, RuleAt(op)));
    return layout;
  }

  Strategy Forward(const Op& op) {
    const Rule rule = RuleAt(op.id);
    Strategy strategy = Strategy::Replicated(rule);
    const auto said = hand_.cuts.find(op.name);
    if (said == hand_.cuts.end()) return Follow(op);
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const auto axes = said->second.find(rule.factors[f].name);
      if (axes == said->second.end()) continue;
      strategy.cuts[f] = ParseLayout("[" + axes->second + "]", plan_.mesh)->dimensions[0];
    }
    return strategy;
  }

  // The cuts of the first input, its partial sums resolved first.
  Strategy Follow(const Op& op) {
    const Rule rule = RuleAt(op.id);
    Strategy strategy = Strategy::Replicated(rule);
    const Layout layout = Seen(op.inputs[0]);
    for (size_t d = 0; d < layout.dimensions.size(); ++d) {
      for (AxisId axis : layout.dimensions[d]) {
        if (rule.inputs[0][d].size() != 1) continue;
        if (const auto next = WithCut(strategy, rule, plan_.mesh, rule.inputs[0][d][0], axis); next.ok())
          strategy = *next;
      }
    }
    return strategy;
  }

  Strategy Source(const Op& op) {
    if (op.phase == Phase::kUpdate) return OfLayout(op, StorageOf(op));
    const auto said = hand_.storage.find(op.name);
    if (said != hand_.storage.end()) return OfLayout(op, *ParseLayout(said->second, plan_.mesh));
    for (const Op& reader : graph_.ops) {
      if (reader.phase != Phase::kForward) continue;
      for (size_t i = 0; i < reader.inputs.size(); ++i) {
        if (reader.inputs[i] != op.id) continue;
        return OfLayout(op, InputLayout(plan_.ops[reader.id].strategy, RuleAt(reader.id), static_cast<int>(i)));
      }
    }
    return Strategy::Replicated(RuleAt(op.id));
  }

  Strategy OfLayout(const Op& op, const Layout& layout) const {
    const Rule rule = RuleAt(op.id);
    if (op.type.rank() != static_cast<int>(layout.dimensions.size())) return Strategy::Replicated(rule);
    return *StrategyFromOutputLayout(layout, rule, plan_.mesh);
  }

  // The parameter to which an update op or slot belongs by its name.
  Layout StorageOf(const Op& op) const {
    for (const Op& parameter : graph_.ops) {
      if (parameter.kind == OpKind::kParameter && op.name.rfind(parameter.name + ".", 0) == 0)
        return Seen(parameter.id);
    }
    return {};
  }

  Strategy Backward(const Op& op) {
    const Rule rule = RuleAt(op.id);
    if (op.inherits.has_value())
      return InheritStrategy(plan_.ops[op.inherits->op].strategy, *op.inherits, rule, plan_.mesh);
    Strategy strategy = Follow(op);
    const Layout first = Seen(op.inputs[0]);
    const bool alike =
        std::all_of(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return Seen(input) == first; });
    if (op.kind == OpKind::kAdd && alike) {
      for (AxisId axis : first.PartialAxes()) strategy.passes.push_back({.axis = axis, .group = 0});
    }
    return strategy;
  }

  const Graph& graph_;
  Hand hand_;
  Plan plan_;
};

// ---- What the tests look at ----

// "all_reduce 5, all_gather 1" over the forward, backward and update steps, without the loss.
std::string Collectives(const Graph& graph, const Program& program,
                        std::set<Phase> phases = {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
  std::map<CollectiveKind, int> counts;
  for (const Step& step : program.steps) {
    const Collective* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || phases.count(step.phase) == 0) continue;
    if (program.value(collective->transfers[0].input).origin == graph.loss) continue;
    ++counts[collective->kind];
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts) parts.push_back(absl::StrCat(CollectiveKindName(kind), " ", count));
  return absl::StrJoin(parts, ", ");
}

Program Split(const Graph& graph, const Plan& plan, const PartitionOptions& options = {}) {
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan, options);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(absl::StrJoin(CheckStatically(*program), "\n"), "");
  const absl::StatusOr<SimulationReport> proof = CheckBySimulation(graph, *distributed, *program);
  EXPECT_TRUE(proof.ok()) << proof.status();
  return *std::move(program);
}

const Collective& FindCollective(const Program& program, absl::string_view step) {
  for (const Step& candidate : program.steps) {
    if (candidate.name == step) return std::get<Collective>(candidate.action);
  }
  ADD_FAILURE() << "no step " << step;
  std::abort();
}

// ---- Counts of collectives, known from other systems (docs/cases: collective counts) ----

TEST(PartitionCountsTest, DataParallelMergesItsGradients) {
  const Graph graph = Dense({.widths = {32, 32, 32, 32, 32, 32, 32}, .batch = 256});
  const Plan plan = HandPlan(graph, MeshOf({4}),
                             {.cuts = {{"l1.matmul", {{"i", "m0"}}},
                                       {"l2.matmul", {{"i", "m0"}}},
                                       {"l3.matmul", {{"i", "m0"}}},
                                       {"l4.matmul", {{"i", "m0"}}},
                                       {"l5.matmul", {{"i", "m0"}}},
                                       {"l6.matmul", {{"i", "m0"}}}},
                              .storage = {},
                              .output = {}})
                        .Make();
  const Program program = Split(graph, plan);
  EXPECT_EQ(Collectives(graph, program), "all_reduce 1");
  const Collective& gradients = FindCollective(program, "gradients.all_reduce");
  EXPECT_EQ(gradients.transfers.size(), 12u);
  EXPECT_EQ(gradients.why, "gradients of l6.bias, l6.weight and 10 more");
  EXPECT_EQ(Collectives(graph, Split(graph, plan, {.merge_collectives = false})), "all_reduce 12");
}

TEST(PartitionCountsTest, DataParallelTimesTensorParallel) {
  const Graph graph = Dense({.widths = {32, 32, 32, 32, 32, 32, 32}, .batch = 256});
  Hand hand;
  for (int layer = 1; layer <= 6; ++layer) {
    hand.cuts[absl::StrCat("l", layer, ".matmul")] = {{"i", "m0"}, {layer % 2 == 1 ? "j" : "k", "m1"}};
  }
  const Program program = Split(graph, HandPlan(graph, MeshOf({2, 2}), hand).Make());
  EXPECT_EQ(Collectives(graph, program), "all_reduce 6");
  EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "all_reduce 3");
  EXPECT_EQ(Collectives(graph, program, {Phase::kBackward}), "all_reduce 2");
  EXPECT_EQ(Collectives(graph, program, {Phase::kUpdate}), "all_reduce 1");
}

TEST(PartitionCountsTest, ColumnThenRow) {
  const Graph graph = Dense({.widths = {10, 16, 10}});
  const Hand hand{.cuts = {{"l1.matmul", {{"j", "m0"}}}, {"l2.matmul", {{"k", "m0"}}}}, .storage = {}, .output = {}};
  EXPECT_EQ(Collectives(graph, Split(graph, HandPlan(graph, MeshOf({4}), hand).Make())), "all_reduce 1");
}

TEST(PartitionCountsTest, ColumnThenRowWithBatchShardedEnds) {
  const Graph graph = Dense({.widths = {10, 16, 10}, .bias = false});
  const Hand hand{.cuts = {{"l1.matmul", {{"j", "m0"}}}, {"l2.matmul", {{"k", "m0"}}}},
                  .storage = {{"x", "[m0, -]"}},
                  .output = {{"l2.matmul", "[m0, -]"}}};
  EXPECT_EQ(Collectives(graph, Split(graph, HandPlan(graph, MeshOf({4}), hand).Make())),
            "all_gather 2, reduce_scatter 1");
}

TEST(PartitionCountsTest, OneColumnLayer) {
  const Graph graph = Dense({.widths = {12, 8}, .input_is_parameter = true});
  Hand hand{.cuts = {{"l1.matmul", {{"j", "m0"}}}}, .storage = {}, .output = {}};
  const Program replicated = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, replicated), "all_reduce 1");
  EXPECT_EQ(Collectives(graph, replicated, {Phase::kForward}), "");
  hand.storage["x"] = "[m0, -]";
  const Program sharded = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, sharded, {Phase::kForward}), "all_gather 1");
  EXPECT_EQ(Collectives(graph, sharded, {Phase::kBackward, Phase::kUpdate}), "reduce_scatter 1");
}

TEST(PartitionCountsTest, OneRowLayer) {
  const Graph graph = Dense({.widths = {12, 8}, .bias = false, .input_is_parameter = true});
  Hand hand{.cuts = {{"l1.matmul", {{"k", "m0"}}}}, .storage = {}, .output = {}};
  const Program replicated = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, replicated, {Phase::kForward}), "all_reduce 1");
  EXPECT_EQ(Collectives(graph, replicated, {Phase::kBackward, Phase::kUpdate}), "");
  hand.output["l1.matmul"] = "[m0, -]";
  const Program sharded = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, sharded, {Phase::kForward}), "reduce_scatter 1");
  EXPECT_EQ(Collectives(graph, sharded, {Phase::kBackward, Phase::kUpdate}), "all_gather 1");
}

TEST(PartitionCountsTest, RowsFeedingColumns) {
  const Graph graph = Dense({.widths = {8, 8, 8}, .bias = false});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0"}}}, {"l2.matmul", {{"j", "m0"}}}}, .storage = {}, .output = {}};
  const Program program = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "all_gather 1");
  EXPECT_EQ(FindCollective(program, "l1.all_gather").why, "l2.matmul reads l1 as [-, -], it lies as [m0, -]");
}

TEST(PartitionCountsTest, ShardedOptimizerStateScattersGradientsAndGathersParameters) {
  const Graph graph = Dense({.widths = {8, 8}, .bias = false});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0"}}}}, .storage = {{"l1.weight", "[m0, -]"}}, .output = {}};
  const Program program = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, program), "all_gather 1, reduce_scatter 1");
}

// ---- Other properties ----

TEST(PartitionTest, ThePublishedPin) {
  const Graph graph = Dense({.widths = {784, 512, 512, 1}, .batch = 256, .bias = false});
  const Mesh mesh = Mesh::OfDevices(8);
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0 m1"}, {"k", "m2"}}}}, .storage = {}, .output = {}};
  const Program program = Split(graph, HandPlan(graph, mesh, hand).Make());
  for (const Step& step : program.steps) {
    if (step.name != "l1.matmul") continue;
    const Compute& matmul = std::get<Compute>(step.action);
    EXPECT_EQ(LargestLocalShape(program, matmul.inputs[0]), (Shape{64, 392}));
    EXPECT_EQ(LargestLocalShape(program, matmul.inputs[1]), (Shape{512, 392}));
    EXPECT_EQ(LargestLocalShape(program, matmul.output), (Shape{64, 512}));
  }
  const Collective& reduce = FindCollective(program, "l1.matmul.all_reduce");
  EXPECT_EQ(reduce.why, "partial sums of l1.matmul");
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(mesh.Group(rank, reduce.axes), (std::vector<int>{rank / 2 * 2, rank / 2 * 2 + 1}));
  }
  EXPECT_EQ(CollectiveBytes(program, reduce), Bytes(64 * 512 * 4));
  EXPECT_DOUBLE_EQ(SentBytes(program, reduce), 64 * 512 * 4);
}

TEST(PartitionTest, OutAsksForAReduceScatter) {
  const Graph graph = Dense({.widths = {16, 8, 4}, .bias = false});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0 m1"}, {"k", "m2"}}}},
                  .storage = {},
                  .output = {{"l1.matmul", "[m0 m1 m2, -]"}}};
  const Program program = Split(graph, HandPlan(graph, Mesh::OfDevices(8), hand).Make());
  EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "reduce_scatter 1");
}

// Readers see another layout than the weight is kept in; the copy is made anew at every step.
TEST(PartitionTest, UpdatesGoToWhereTheStateIsKept) {
  const Graph graph = Dense({.widths = {16, 8, 4}, .bias = false});
  const Hand hand{.cuts = {}, .storage = {{"l1.weight", "[m0, -]"}}, .output = {{"l1.weight", "[-, m0]"}}};
  const Program program = Split(graph, HandPlan(graph, MeshOf({2}), hand).Make());
  ASSERT_FALSE(program.updates.empty());
  for (const ProgramUpdate& update : program.updates) {
    EXPECT_EQ(program.value(update.state).name, graph.op(program.value(update.state).origin).name);
  }
}

// One reader wants the result of the reduce_scatter; the way to the other begins with the same slice.
TEST(PartitionTest, TwoSlicesOfOneAllReduceAreOneReduceScatter) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kParameter, {}, {{attribute::kShape, std::vector<int64_t>{5, 3}}}, "x");
  const OpId sum = builder.Add(OpKind::kReduceSum, {x}, {{attribute::kAxes, std::vector<int64_t>{1}}}, "sum");
  const OpId neg = builder.Add(OpKind::kNeg, {sum}, {}, "neg");
  const OpId square = builder.Add(OpKind::kSquare, {sum}, {}, "square");
  const Graph graph = std::move(builder).Build();
  Plan plan;
  plan.mesh = MeshOf({2, 2});
  plan.ops = IdVector<OpId, OpPlan>(graph.ops.size());
  const AxisId m0(0), m1(1);
  plan.ops[x].strategy.cuts = {{}, {}};
  plan.ops[sum].strategy.cuts = {{}, {m0}};
  plan.ops[sum].output = Layout{.dimensions = {{m1}}, .partial = {}};
  plan.ops[neg].strategy.cuts = {{m1, m0}};
  plan.ops[square].strategy.cuts = {{m0, m1}};
  ASSERT_EQ(VerifyPlan(graph, plan), std::vector<std::string>{});
  const Program program = Split(graph, plan);
  EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "reduce_scatter 1, permute 1");
}

TEST(PartitionTest, AllReduceThatIsOnlySlicedIsAReduceScatter) {
  const Graph graph = Dense({.widths = {16, 8, 4}, .bias = false});
  // The pin asks for the whole value, the next layer reads columns of it.
  const Hand hand{.cuts = {{"l1.matmul", {{"k", "m0"}}}, {"l1", {{"d1", "m0"}}}, {"l2.matmul", {{"k", "m0"}}}},
                  .storage = {},
                  .output = {{"l1.matmul", "[-, -]"}}};
  const Plan plan = HandPlan(graph, MeshOf({2}), hand).Make();
  const Program program = Split(graph, plan);
  bool found = false;
  for (const Step& step : program.steps) {
    const Collective* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || step.phase != Phase::kForward) continue;
    if (program.value(collective->transfers[0].input).name != "l1.matmul") continue;
    found = true;
    EXPECT_EQ(collective->kind, CollectiveKind::kReduceScatter);
    EXPECT_EQ(step.name, "l1.matmul.reduce_scatter");
  }
  EXPECT_TRUE(found);
}

// Two products of different inputs, added; with `relu` the first goes through a relu before the second is made.
Graph TwoProducts(bool relu) {
  GraphBuilder builder;
  const auto product = [&](const std::string& name) {
    const OpId weight = AddParameter(builder, name + ".weight", {8, 8});
    return builder.Add(OpKind::kMatmul, {AddInput(builder, name + ".x", {8, 8}), weight}, {}, name);
  };
  OpId first = product("first");
  if (relu) first = builder.Add(OpKind::kRelu, {first}, {}, "relu");
  const OpId sum = builder.Add(OpKind::kAdd, {first, product("second")}, {}, "sum");
  builder.mutable_graph().loss = builder.Add(OpKind::kMse, {sum, AddInput(builder, "target", {8, 8})}, {}, "loss");
  return *Differentiate(std::move(builder).Build(), TestOptimizer{.kind = TestOptimizer::Kind::kSgd});
}

TEST(PartitionMergeTest, WithinAPhaseBeforeTheFirstReader) {
  const Hand hand{.cuts = {{"first", {{"k", "m0"}}}, {"second", {{"k", "m0"}}}}, .storage = {}, .output = {}};
  for (const bool relu : {false, true}) {
    const Graph graph = TwoProducts(relu);
    const Plan plan = HandPlan(graph, MeshOf({2}), hand).Make();
    EXPECT_EQ(Collectives(graph, Split(graph, plan), {Phase::kForward}), relu ? "all_reduce 2" : "all_reduce 1");
    EXPECT_EQ(Collectives(graph, Split(graph, plan, {.merge_collectives = false}), {Phase::kForward}), "all_reduce 2");
  }
}

// A variance by two sums over rows, of which one is read before the other is asked for; with `reshapes` only after it
// was taken in another shape.
Graph TwoSums(bool reshapes) {
  GraphBuilder builder;
  const OpId x = builder.Add(OpKind::kMatmul, {AddInput(builder, "x", {8, 4}), AddParameter(builder, "weight", {4, 6})},
                             {}, "x.matmul");
  const Attributes over_rows = {{attribute::kAxes, std::vector<int64_t>{0}}};
  OpId sum = builder.Add(OpKind::kReduceSum, {x}, over_rows, "sum");
  if (reshapes) sum = builder.Add(OpKind::kReshape, {sum}, {{attribute::kShape, std::vector<int64_t>{6}}}, "same");
  const OpId squares = builder.Add(OpKind::kMul, {x, x}, {}, "squares");
  const OpId sum_of_squares = builder.Add(OpKind::kReduceSum, {squares}, over_rows, "sum_of_squares");
  const OpId square_of_sum = builder.Add(OpKind::kMul, {sum, sum}, {}, "square_of_sum");
  const OpId variance = builder.Add(OpKind::kSub, {sum_of_squares, square_of_sum}, {}, "variance");
  builder.mutable_graph().loss = builder.Add(OpKind::kMse, {variance, AddInput(builder, "target", {6})}, {}, "loss");
  return *Differentiate(std::move(builder).Build(), TestOptimizer{.kind = TestOptimizer::Kind::kSgd});
}

TEST(PartitionMergeTest, ASmallOneComesWithTheOneThatIsReadFirst) {
  const Hand hand{.cuts = {{"x.matmul", {{"i", "m0"}}}}, .storage = {}, .output = {}};
  for (const bool reshapes : {false, true}) {
    const Graph graph = TwoSums(reshapes);
    const Plan plan = HandPlan(graph, MeshOf({2}), hand).Make();
    const Program program = Split(graph, plan);
    EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "all_reduce 1");
    EXPECT_EQ(Collectives(graph, Split(graph, plan, {.merge_collectives = false}), {Phase::kForward}), "all_reduce 2");
    EXPECT_EQ(FindCollective(program, "sum.all_reduce").transfers.size(), 2u);
  }
}

// Weights of different shapes, stored in columns and in rows, all gathered at once before the first is read.
TEST(PartitionMergeTest, ParametersAreGatheredAhead) {
  const Graph graph = Dense({.widths = {6, 5, 4}, .batch = 8});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0"}}}, {"l2.matmul", {{"i", "m0"}}}},
                  .storage = {{"l1.weight", "[-, m0]"}, {"l1.bias", "[m0]"}, {"l2.weight", "[m0, -]"}},
                  .output = {}};
  const Program program = Split(graph, HandPlan(graph, MeshOf({4}), hand).Make());
  EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "all_gather 1");
  const Collective& gather = FindCollective(program, "parameters.all_gather");
  ASSERT_EQ(gather.transfers.size(), 3u);
  EXPECT_EQ(gather.transfers[0].from_dimension, 1);
  EXPECT_EQ(gather.transfers[1].from_dimension, 0);
  EXPECT_EQ(gather.why, "l1.matmul reads l1.weight as [-, -], it lies as [-, m0], and 2 more");
  // The backward pass reads the same copy; gradients go back to where the parameters are stored.
  EXPECT_EQ(Collectives(graph, program, {Phase::kBackward, Phase::kUpdate}), "all_reduce 1, reduce_scatter 1");
  const Collective& scatter = FindCollective(program, "gradients.reduce_scatter");
  EXPECT_EQ(scatter.transfers.size(), 3u);
}

TEST(PartitionMergeTest, ACopyIsMadeAgainWhereThePlanSaysSo) {
  const Graph graph = Dense({.widths = {6, 5, 4}, .batch = 8, .bias = false});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0"}}}, {"l2.matmul", {{"i", "m0"}}}},
                  .storage = {{"l1.weight", "[m0, -]"}, {"l2.weight", "[m0, -]"}},
                  .output = {}};
  Plan plan = HandPlan(graph, MeshOf({4}), hand).Make();
  EXPECT_EQ(Collectives(graph, Split(graph, plan)), "all_gather 1, reduce_scatter 1");
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kParameter) plan.ops[op.id].retention = Retention::kRedistribute;
  }
  const Program program = Split(graph, plan);
  EXPECT_EQ(Collectives(graph, program, {Phase::kForward}), "all_gather 1");
  EXPECT_EQ(Collectives(graph, program, {Phase::kBackward}), "all_gather 1");
  // The first layer's weight is not read on the way back: its input is data.
  EXPECT_EQ(FindCollective(program, "parameters.all_gather").transfers.size(), 2u);
  EXPECT_EQ(FindCollective(program, "l2.weight.all_gather_1").transfers.size(), 1u);
}

// A gradient that the plan wants scattered where it is made, in buckets of two.
TEST(PartitionMergeTest, FullBucketsLeaveDuringTheBackwardPass) {
  const Graph graph = Dense({.widths = {8, 8, 8, 8, 8}, .batch = 8, .bias = false});
  Hand hand;
  for (int layer = 1; layer <= 4; ++layer) hand.cuts[absl::StrCat("l", layer, ".matmul")] = {{"i", "m0"}};
  const Program program =
      Split(graph, HandPlan(graph, MeshOf({2}), hand).Make(), {.buckets = BucketSizes::All(Bytes(2 * 8 * 8 * 4))});
  EXPECT_EQ(Collectives(graph, program, {Phase::kBackward}), "all_reduce 2");
  EXPECT_EQ(Collectives(graph, program, {Phase::kUpdate}), "");
  std::vector<std::string> order;
  for (const Step& step : program.steps) {
    if (step.phase != Phase::kBackward) continue;
    const Compute* compute = std::get_if<Compute>(&step.action);
    const bool is_gradient = compute != nullptr && graph.op(compute->op).gradient_of.has_value() &&
                             graph.op(*graph.op(compute->op).gradient_of).kind == OpKind::kParameter;
    if (is_gradient) order.push_back(graph.op(*graph.op(compute->op).gradient_of).name);
    if (std::holds_alternative<Collective>(step.action)) order.push_back(step.name);
  }
  EXPECT_EQ(absl::StrJoin(order, " "),
            "l4.weight l3.weight gradients.all_reduce l2.weight l1.weight gradients.all_reduce_1");
}

// The tensors of each collective of gradients, in their order.
std::string GradientBuckets(const Program& program) {
  std::vector<std::string> buckets;
  for (const Step& step : program.steps) {
    const Collective* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || step.name.find("gradients") == std::string::npos) continue;
    buckets.push_back(absl::StrCat(step.name, " ", collective->transfers.size()));
  }
  return absl::StrJoin(buckets, ", ");
}

// Layers "x.1" to "x.4" have gradients of 288 bytes each.
TEST(PartitionMergeTest, LayersThatAreTooManyForOneBucketAreMergedOneByOne) {
  Graph graph = Dense({.widths = {8, 8, 8, 8, 8}, .batch = 8});
  Hand hand;
  for (int layer = 1; layer <= 4; ++layer) hand.cuts[absl::StrCat("x.", layer, ".matmul")] = {{"i", "m0"}};
  for (Op& op : graph.ops) {
    if (op.name[0] != 'l' || op.name[2] != '.') continue;
    op.name = absl::StrCat("x.", op.name.substr(1));
    op.repetition = InPass({}, /*loop=*/1, op.name[2] - '0');
  }
  const Plan plan = HandPlan(graph, MeshOf({2}), hand).Make();
  EXPECT_EQ(GradientBuckets(Split(graph, plan, {.buckets = BucketSizes::All(Bytes(4 * 288))})),
            "gradients.all_reduce 8");
  EXPECT_EQ(GradientBuckets(Split(graph, plan, {.buckets = BucketSizes::All(Bytes(3 * 288))})),
            "x.4.gradients.all_reduce 2, x.3.gradients.all_reduce 2, x.2.gradients.all_reduce 2, "
            "x.1.gradients.all_reduce 2");
  EXPECT_EQ(GradientBuckets(Split(graph, plan, {.buckets = BucketSizes::All(Bytes(0))})), "gradients.all_reduce 8");
}

TEST(PartitionMergeTest, TheProofAsksForOneElementTypeToACall) {
  const Graph graph = Dense({.widths = {8, 8}, .batch = 8});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0"}}}}, .storage = {}, .output = {}};
  Program program = Split(graph, HandPlan(graph, MeshOf({2}), hand).Make());
  const Transfer transfer = FindCollective(program, "gradients.all_reduce").transfers.at(1);
  program.values[transfer.input].type.dtype = DType::kI32;
  program.values[transfer.output].type.dtype = DType::kI32;
  EXPECT_NE(absl::StrJoin(CheckStatically(program), "\n").find("carries several element types in one call"),
            std::string::npos);
}

// Slices that all begin with one cut share a reduce_scatter; another reader of the whole value keeps the all_reduce.
TEST(PartitionTest, SeveralSlicesOfOneSum) {
  const Graph graph = Dense({.widths = {8, 8}, .batch = 8, .bias = false, .input_is_parameter = true});
  const std::map<std::string, std::map<std::string, std::string>> cuts = {{"l1.matmul", {{"k", "m0"}}}};
  Program program = *Partition(
      graph, HandPlan(graph, MeshOf({2, 2}), {.cuts = cuts, .storage = {}, .output = {{"l1.matmul", "[-, -]"}}}).Make(),
      {.merge_collectives = false});
  const auto at = std::find_if(program.steps.begin(), program.steps.end(),
                               [](const Step& step) { return step.name == "l1.matmul.all_reduce"; });
  ASSERT_NE(at, program.steps.end());
  const ValueId whole = std::get<Collective>(at->action).transfers[0].output;
  const auto with_slices = [&](const std::vector<std::string>& layouts) {
    Program sliced = program;
    for (Step& step : sliced.steps) {
      if (Compute* compute = std::get_if<Compute>(&step.action)) {
        compute->inputs.erase(std::remove(compute->inputs.begin(), compute->inputs.end(), whole),
                              compute->inputs.end());
      }
    }
    for (const std::string& layout : layouts) {
      Value part = sliced.value(whole);
      part.name = absl::StrCat("part ", layout);
      part.layout = *ParseLayout(layout, sliced.mesh);
      sliced.steps.push_back({.action = Slice{whole, sliced.values.push_back(part)}, .name = part.name});
    }
    FuseReduceScatters(sliced);
    std::vector<std::string> left;
    for (const Step& step : sliced.steps) {
      const Slice* slice = std::get_if<Slice>(&step.action);
      if (slice != nullptr && sliced.value(slice->output).origin == program.value(whole).origin)
        left.push_back(step.name);
      const bool is_collective = std::holds_alternative<Collective>(step.action);
      if (is_collective && step.name.rfind("l1.matmul.", 0) == 0) left.push_back(step.name);
    }
    return absl::StrJoin(left, ", ");
  };
  EXPECT_EQ(with_slices({"[m0, -]"}), "l1.matmul.reduce_scatter");
  EXPECT_EQ(with_slices({"[m0 m1, -]"}), "l1.matmul.reduce_scatter, part [m0 m1, -]");
  EXPECT_EQ(with_slices({"[m0, -]", "[m0, m1]"}), "l1.matmul.reduce_scatter, part [m0, m1]");
  EXPECT_EQ(with_slices({"[m0 m1, -]", "[m0, m1]"}), "l1.matmul.reduce_scatter, part [m0 m1, -], part [m0, m1]");
  EXPECT_EQ(with_slices({"[m0, -]", "[-, m0]"}), "l1.matmul.all_reduce, part [m0, -], part [-, m0]");
  EXPECT_EQ(with_slices({"[m0, -]", "[m1, -]"}), "l1.matmul.all_reduce, part [m0, -], part [m1, -]");
}

TEST(PartitionTest, SumOfTiedGradientsIsReducedOnce) {
  const Graph graph = TestTiedWeights();
  const Mesh mesh = MeshOf({2});
  Plan plan = DataParallelPlan(graph, mesh);
  // The contributions are partial over the batch's axis: they are added before they are reduced.
  int sums = 0;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kAdd || op.phase != Phase::kBackward || op.inherits.has_value()) continue;
    const auto is_partial = [&](OpId input) {
      return OutputLayout(plan.ops[input].strategy, RuleOf(graph, graph.op(input))).is_partial();
    };
    if (!std::all_of(op.inputs.begin(), op.inputs.end(), is_partial)) continue;
    plan.ops[op.id].strategy = Strategy::Replicated(RuleOf(graph, op));
    plan.ops[op.id].strategy.passes = {{.axis = AxisId(0), .group = 0}};
    ++sums;
  }
  ASSERT_GT(sums, 0);
  EXPECT_EQ(Collectives(graph, Split(graph, plan)), "all_reduce 1");
}

TEST(PartitionTest, MergedCollectiveStandsBetweenProducersAndConsumers) {
  const Graph graph = Dense({.widths = {8, 8, 8}, .batch = 7});
  const Hand hand{.cuts = {{"l1.matmul", {{"i", "m0"}}}, {"l2.matmul", {{"i", "m0"}}}}, .storage = {}, .output = {}};
  const Program program = Split(graph, HandPlan(graph, MeshOf({3}), hand).Make());
  size_t merged = 0;
  size_t last_backward = 0;
  size_t first_update_of_state = program.steps.size();
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.name == "gradients.all_reduce") merged = i;
    if (step.phase == Phase::kBackward) last_backward = i;
    if (step.name == "l1.weight.new") first_update_of_state = std::min(first_update_of_state, i);
  }
  EXPECT_LT(last_backward, merged);
  EXPECT_LT(merged, first_update_of_state);
}

TEST(PartitionTest, OneDeviceNeedsNothing) {
  const Graph graph = Dense({.widths = {8, 8}});
  const Program program = Split(graph, HandPlan(graph, Mesh(), {}).Make());
  for (const Step& step : program.steps) EXPECT_TRUE(std::holds_alternative<Compute>(step.action)) << step.name;
  EXPECT_EQ(program.steps.size(), graph.ops.size());
}

TEST(PartitionTest, SameInputSameProgram) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const Graph graph = TestAttention();
  const Distributed split = *Distribute(graph, RandomPlan(graph, Mesh::OfDevices(12), random));
  EXPECT_EQ(*Partition(split.graph, split.plan), *Partition(split.graph, split.plan));
}

// Every value and step has a unique name, every collective has a reason, and every move except those of states has a
// line where the model has one.
TEST(PartitionTest, EverythingIsNamed) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const Graph graph = Dense({.widths = {8, 6, 4}});
  for (int round = 0; round < 5; ++round) {
    const Distributed split = *Distribute(graph, RandomPlan(graph, Mesh::OfDevices(6), random));
    const Program program = *Partition(split.graph, split.plan);
    std::set<std::string> names;
    for (const Value& value : program.values) EXPECT_TRUE(names.insert(value.name).second) << value.name;
    std::set<std::string> steps;
    for (const Step& step : program.steps) {
      EXPECT_TRUE(steps.insert(step.name).second) << step.name;
      const Collective* collective = std::get_if<Collective>(&step.action);
      if (collective == nullptr) continue;
      EXPECT_FALSE(collective->why.empty()) << step.name;
      EXPECT_GT(step.line, 0) << step.name;
    }
  }
}

}  // namespace
}  // namespace cleave::ir
