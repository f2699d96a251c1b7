#include "ir/program/order/order.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/layer_names/layer_names.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/order/testing.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

struct Made {
  Graph graph;
  Program program;
  MemoryPlan memory;

  Bytes peak() const { return memory.use.prediction.peak; }
};

Made MadeOf(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  EXPECT_TRUE(program.ok()) << program.status();
  Made made = {.graph = std::move(distributed->graph), .program = *std::move(program)};
  made.memory = PlanMemory(made.graph, made.program);
  return made;
}

Made Ordered(Made made) {
  OrderForMemory(made.graph, made.program, made.memory);
  return made;
}

// The least peak over all orders; nullopt where there are too many.
std::optional<Bytes> LeastPeak(const Made& made) {
  Bytes least{int64_t{1} << 60};
  const auto measure = [&](const Program& program) {
    least = std::min(least, PlanMemory(made.graph, program).use.prediction.peak);
  };
  return AllOrders(made.program, measure).AreVisited(/*most=*/400) ? std::optional(least) : std::nullopt;
}

// Products of random widths, each of one value before it, or sums of two: up to `most` of them.
Graph RandomBranches(std::mt19937_64& random, int most) {
  constexpr int64_t kRows = 64;
  GraphBuilder builder;
  std::vector<OpId> values = {AddInput(builder, "x", {kRows, 16})};
  std::set<OpId> unread = {values[0]};
  const int count = 3 + static_cast<int>(random() % static_cast<uint64_t>(most - 2));
  for (int i = 0; i < count; ++i) {
    const OpId x = values[random() % values.size()];
    const int64_t width = 16 * (1 + static_cast<int64_t>(random() % 12));
    const OpId weight = builder.Add(
        OpKind::kConstant, {}, {{attribute::kShape, Shape{builder.type(x).shape[1], width}}, {attribute::kValue, 0.1}},
        absl::StrCat("w", i));
    values.push_back(builder.Add(OpKind::kMatmul, {x, weight}, {}, absl::StrCat("v", i)));
    unread.erase(x);
    unread.insert(values.back());
  }
  std::optional<OpId> sum;
  for (const OpId value : unread) {
    const OpId mean = builder.Add(OpKind::kReduceMean, {value}, {}, absl::StrCat("mean", value.value()));
    sum = sum.has_value() ? builder.Add(OpKind::kAdd, {*sum, mean}, {}, absl::StrCat("sum", value.value())) : mean;
  }
  builder.mutable_graph().loss = *sum;
  return std::move(builder).Build();
}

TEST(OrderTest, SmallProgramsNeedHardlyMoreThanInTheBestOrder) {
  std::mt19937_64 random(5);
  int compared = 0, improvable = 0, best = 0;
  double gap = 0, saved = 0;
  for (int i = 0; i < 120; ++i) {
    const Graph graph = RandomBranches(random, 6);
    const Made made = MadeOf(graph, DataParallelPlan(graph, MeshOf({1})));
    const std::optional<Bytes> least = LeastPeak(made);
    if (!least.has_value()) continue;
    const Made ordered = Ordered(made);
    ASSERT_LE(ordered.peak(), made.peak());
    ASSERT_GE(ordered.peak(), *least);
    ++compared;
    improvable += *least < made.peak();
    best += *least < made.peak() && ordered.peak() == *least;
    gap += static_cast<double>((ordered.peak() - *least).value()) / static_cast<double>(least->value());
    saved += static_cast<double>((made.peak() - ordered.peak()).value()) / static_cast<double>(made.peak().value());
  }
  std::cout << compared << " programs, " << improvable << " that another order improves, " << best
            << " of them in the best one; " << 100 * saved / compared << " % saved, " << 100 * gap / compared
            << " % above the least\n";
  EXPECT_GE(compared, 30);
  EXPECT_GE(improvable, 15);
  EXPECT_GE(best, improvable / 2);
  EXPECT_LE(gap / compared, 0.02);
}

// Two branches of wide layers, whose ops alternate in the text.
Graph Towers() {
  constexpr int64_t kRows = 256, kWidth = 32, kWide = 128;
  GraphBuilder builder;
  std::vector<OpId> branches = {AddInput(builder, "a", {kRows, kWidth}), AddInput(builder, "b", {kRows, kWidth})};
  for (int layer = 0; layer < 2; ++layer) {
    for (const bool is_wide : {true, false}) {
      for (size_t branch = 0; branch < branches.size(); ++branch) {
        const std::string name = absl::StrCat(branch == 0 ? "a." : "b.", layer, is_wide ? ".up" : ".down");
        builder.SetSource({.of = InPass({}, /*loop=*/branch + 1, layer)});
        OpId& x = branches[branch];
        const Shape shape = {builder.type(x).shape[1], is_wide ? kWide : kWidth};
        x = builder.Add(OpKind::kMatmul, {x, AddParameter(builder, name + ".weight", shape)}, {}, name);
        if (is_wide) x = builder.Add(OpKind::kGelu, {x}, {}, name + ".gelu");
      }
    }
  }
  builder.SetSource(GraphBuilder::Source());
  const OpId product = builder.Add(OpKind::kMul, {branches[0], branches[1]}, {}, "product");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {product}, {}, "loss");
  return TrainingGraph(std::move(builder).Build(), {});
}

Plan Recomputing(const Graph& graph, const Mesh& mesh) {
  Plan plan = DataParallelPlan(graph, mesh);
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kGelu) plan.ops[op.id].retention = Retention::kRecompute;
  }
  return plan;
}

TEST(OrderTest, ActivationsThatAGradientFreesAreFreedFirst) {
  const Graph graph = Towers();
  const Made made = MadeOf(graph, Recomputing(graph, MeshOf({1})));
  const Made ordered = Ordered(made);
  EXPECT_LT(ordered.peak().value(), made.peak().value() * 0.9);
  // Another order of the same steps.
  std::vector<std::string> before = NamesOf(made.program), after = NamesOf(ordered.program);
  EXPECT_NE(before, after);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
  // The plan is that of the program.
  EXPECT_EQ(ordered.peak(), PlanMemory(ordered.graph, ordered.program).use.prediction.peak);
}

// Updates of parameters do not wait for each other, so that nothing else would hold those of a layer together.
TEST(OrderTest, UpdatesStayInTheirLayers) {
  const auto layers = [](const Program& program) {
    std::vector<std::string> names;
    for (const Step& step : program.steps) {
      if (step.phase == Phase::kUpdate && !IsSource(step)) names.emplace_back(LayerOf(step.name));
    }
    return names;
  };
  const Graph graph = TrainingGraph(Towers(), {.kind = TestOptimizer::Kind::kAdam});
  const Made made = MadeOf(graph, Recomputing(graph, MeshOf({1})));
  const Made ordered = Ordered(made);
  EXPECT_LT(ordered.peak(), made.peak());
  EXPECT_EQ(layers(ordered.program), layers(made.program));
}

TEST(OrderTest, TheProofHoldsAndCollectivesStayInOrder) {
  const auto collectives = [](const Program& program) {
    std::vector<std::string> names;
    for (const Step& step : program.steps) {
      if (CommunicationOf(program, step) != nullptr) names.push_back(step.name);
    }
    return names;
  };
  int changed = 0;
  std::mt19937_64 random(9);
  for (const Graph& graph : {Towers(), TestMlp(), TestAttention()}) {
    for (int draw = 0; draw < 12; ++draw) {
      const Mesh mesh = MeshOf({1 + draw % 3, 1 + draw % 2});
      Plan plan = draw < 4 ? Recomputing(graph, mesh) : RandomPlan(graph, mesh, random);
      plan.micro_batches = draw % 4 == 3 ? 2 : 1;
      const Made made = MadeOf(graph, plan);
      const Made ordered = Ordered(made);
      changed += NamesOf(made.program) != NamesOf(ordered.program);
      EXPECT_LE(ordered.peak(), made.peak());
      EXPECT_EQ(CheckStatically(ordered.program), std::vector<std::string>());
      EXPECT_EQ(collectives(made.program), collectives(ordered.program));
      const absl::StatusOr<SimulationReport> proof = CheckBySimulation(made.graph, ordered.program);
      EXPECT_TRUE(proof.ok()) << proof.status();
    }
  }
  EXPECT_GE(changed, 4);
}

}  // namespace
}  // namespace cleave::ir
