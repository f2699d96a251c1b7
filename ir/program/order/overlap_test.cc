#include "ir/program/order/overlap.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

struct Fused {
  Graph graph;
  Program program;
  Fusion fusion;
};

// nullopt where the plan has no program.
std::optional<Fused> FusedOf(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  if (!distributed.ok()) return std::nullopt;
  absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  if (!program.ok()) return std::nullopt;
  Fusion fusion = Fuse(*program);
  return Fused{.graph = std::move(distributed->graph), .program = *std::move(program), .fusion = std::move(fusion)};
}

std::vector<Seconds> RandomSeconds(const Fused& made, std::mt19937_64& random) {
  std::vector<Seconds> seconds;
  for (size_t i = 0; i < made.fusion.stages.size(); ++i) seconds.emplace_back(static_cast<double>(random() % 8));
  return seconds;
}

// What the steps take where collectives run beside kernels, and each phase begins when the one before has ended. A
// stage takes its time at its first step.
double TimeOf(const Program& program, const std::map<std::string, double>& seconds) {
  double kernels = 0, collectives = 0;
  std::optional<Phase> phase;
  IdVector<ValueId, double> there(program.values.size(), 0);
  for (const Step& step : program.steps) {
    if (step.phase == Phase::kUpdate) break;
    if (std::exchange(phase, step.phase) != step.phase) kernels = collectives = std::max(kernels, collectives);
    const auto own = seconds.find(step.name);
    const double takes = own == seconds.end() ? 0 : own->second;
    double& clock = CommunicationOf(program, step) != nullptr ? collectives : kernels;
    double start = takes > 0 ? clock : 0;
    for (const ValueId value : Reads(step)) start = std::max(start, there[value]);
    if (takes > 0) clock = start + takes;
    for (const ValueId value : Writes(step)) there[value] = start + takes;
  }
  return std::max(kernels, collectives);
}

std::map<std::string, double> ByName(const Fused& made, const std::vector<Seconds>& seconds) {
  std::map<std::string, double> named;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const int first = StepsOf(made.fusion.stages[i]).front();
    named[made.program.steps[static_cast<size_t>(first)].name] = seconds[i].value();
  }
  return named;
}

// The least time over all orders; nullopt where there are too many.
std::optional<double> LeastTime(const Fused& made, const std::map<std::string, double>& seconds) {
  std::optional<double> least;
  const auto measure = [&](const Program& program) {
    const double time = TimeOf(program, seconds);
    least = std::min(least.value_or(time), time);
  };
  return AllOrders(made.program, measure).AreVisited(/*most=*/3000) ? least : std::nullopt;
}

Graph TwoProducts() {
  GraphBuilder builder;
  OpId x = AddInput(builder, "data", {8, 8});
  for (const std::string name : {"first", "second"}) {
    x = builder.Add(OpKind::kMatmul, {x, AddParameter(builder, name + ".weight", {8, 8})}, {}, name);
  }
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {x}, {}, "loss");
  return TrainingGraph(std::move(builder).Build(), {});
}

// Layers of two products, gelu and a residual.
Graph Layered(int layers) {
  GraphBuilder builder;
  OpId x = AddInput(builder, "data", {8, 8});
  for (int layer = 0; layer < layers; ++layer) {
    const auto name = [&](const std::string& op) { return absl::StrCat("x.", layer, ".", op); };
    builder.SetSource({.of = InPass({}, /*loop=*/1, layer)});
    const OpId up = builder.Add(OpKind::kMatmul, {x, AddParameter(builder, name("up.weight"), {8, 8})}, {}, name("up"));
    const OpId gelu = builder.Add(OpKind::kGelu, {up}, {}, name("gelu"));
    const OpId weight = AddParameter(builder, name("down.weight"), {8, 8});
    const OpId down = builder.Add(OpKind::kMatmul, {gelu, weight}, {}, name("down"));
    x = builder.Add(OpKind::kAdd, {x, down}, {}, name("add"));
  }
  builder.SetSource(GraphBuilder::Source());
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceMean, {x}, {}, "loss");
  return TrainingGraph(std::move(builder).Build(), {});
}

TEST(OverlapOrderTest, SmallProgramsTakeHardlyLongerThanInTheBestOrder) {
  const Graph graph = TwoProducts();
  std::mt19937_64 random(5);
  int compared = 0, improvable = 0, best = 0;
  double gap = 0, saved = 0;
  for (int i = 0; i < 60; ++i) {
    const Fused made = *FusedOf(graph, RandomPlan(graph, MeshOf({2}), random));
    const std::vector<Seconds> seconds = RandomSeconds(made, random);
    const std::map<std::string, double> named = ByName(made, seconds);
    const std::optional<double> least = LeastTime(made, named);
    if (!least.has_value()) continue;
    const double before = TimeOf(made.program, named);
    const double after = TimeOf(OrderForOverlap(made.program, made.fusion, seconds), named);
    ASSERT_LE(after, before);
    ASSERT_GE(after, *least);
    ++compared;
    improvable += *least < before;
    best += *least < before && after == *least;
    gap += after / *least - 1;
    saved += 1 - after / before;
  }
  std::cout << compared << " programs, " << improvable << " that another order improves, " << best
            << " of them in the best one; " << 100 * saved / compared << " % saved, " << 100 * gap / compared
            << " % above the least\n";
  EXPECT_GE(compared, 40);
  EXPECT_GE(improvable, 10);
  EXPECT_GE(best, improvable / 2);
  EXPECT_LE(gap / compared, 0.03);
}

TEST(OverlapOrderTest, TheProofHoldsAndPhasesStay) {
  std::mt19937_64 random(9);
  int changed = 0;
  for (const Graph& graph : {Layered(2), TestMlp(), TestAttention()}) {
    for (int draw = 0; draw < 8; ++draw) {
      Plan plan = RandomPlan(graph, MeshOf({1 + draw % 3, 1 + draw % 2}), random);
      plan.micro_batches = draw % 4 == 3 ? 2 : 1;
      const Fused made = *FusedOf(graph, plan);
      const Program ordered = OrderForOverlap(made.program, made.fusion, RandomSeconds(made, random));
      changed += NamesOf(made.program) != NamesOf(ordered);
      std::vector<std::string> before = NamesOf(made.program), after = NamesOf(ordered);
      std::sort(before.begin(), before.end());
      std::sort(after.begin(), after.end());
      EXPECT_EQ(before, after);
      const auto key = [](const Step& step) { return std::pair(step.repeat, step.phase); };
      EXPECT_TRUE(std::is_sorted(ordered.steps.begin(), ordered.steps.end(),
                                 [&](const Step& a, const Step& b) { return key(a) < key(b); }));
      EXPECT_EQ(CheckStatically(ordered), std::vector<std::string>());
      const absl::StatusOr<SimulationReport> proof = CheckBySimulation(made.graph, ordered);
      EXPECT_TRUE(proof.ok()) << proof.status();
    }
  }
  EXPECT_GE(changed, 8);
}

TEST(OverlapOrderTest, WhatProgramsShareChangesNone) {
  std::mt19937_64 random(17);
  const Mesh mesh = MeshOf({2, 2});
  SharedRedistributions ways(mesh);
  OverlapOrders orders;
  int moved = 0;
  for (int draw = 0; draw < 24; ++draw) {
    const Graph graph = draw % 2 == 0 ? Layered(3) : TestAttention();
    const Plan plan = RandomPlan(graph, mesh, random);
    const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
    if (!distributed.ok()) continue;
    const auto partition = [&](const PartitionOptions& options) {
      return Partition(distributed->graph, distributed->plan, options);
    };
    const absl::StatusOr<Program> plain = partition({}), shared = partition({.ways = &ways});
    ASSERT_EQ(plain.ok(), shared.ok());
    if (!plain.ok()) continue;
    EXPECT_EQ(*plain, *shared);
    // Messages of another size, of the same program without messages.
    const PartitionOptions large{.buckets = {.reductions = Bytes(1 << 30)}};
    const Program apart = *WithoutMessages(distributed->graph, distributed->plan, {});
    EXPECT_EQ(WithMessages(distributed->graph, distributed->plan, apart, large), *partition(large));
    const Fusion fusion = Fuse(*plain);
    std::vector<Seconds> seconds;  // Equal for equal layers, so that orders are used again.
    for (const FusedStage& stage : fusion.stages) {
      const Step& step = plain->steps[static_cast<size_t>(StepsOf(stage).front())];
      seconds.emplace_back(CommunicationOf(*plain, step) != nullptr ? 3 + draw % 3 : 2);
    }
    const Program ordered = OrderForOverlap(*plain, fusion, seconds);
    moved += NamesOf(ordered) != NamesOf(*plain);
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(OrderForOverlap(*plain, fusion, seconds, &orders), ordered);
    }
  }
  EXPECT_GE(moved, 4);
}

TEST(OverlapOrderTest, EqualLayersAreOrderedAlike) {
  constexpr int kLayers = 6;
  const Graph graph = Layered(kLayers);
  std::mt19937_64 random(3);
  int changed = 0;
  for (int draw = 0; draw < 40; ++draw) {
    // All layers are cut as the second one.
    Plan plan = RandomPlan(graph, MeshOf({2}), random);
    std::map<std::string, OpPlan> second;
    const auto place = [](const std::string& name, int layer) {
      return absl::StrReplaceAll(name, {{absl::StrCat("x.", layer, "."), "x.#."}});
    };
    for (const Op& op : graph.ops) second[place(op.name, 1)] = plan.ops[op.id];
    for (const Op& op : graph.ops) {
      for (int layer = 1; layer < kLayers; ++layer) {
        if (place(op.name, layer) != op.name) plan.ops[op.id] = second.at(place(op.name, layer));
      }
    }
    const std::optional<Fused> found = FusedOf(graph, plan);
    if (!found.has_value()) continue;  // What a layer makes may not be what the first one can read.
    const Fused& made = *found;
    std::vector<Seconds> seconds;
    for (const FusedStage& stage : made.fusion.stages) {
      const Step& step = made.program.steps[static_cast<size_t>(StepsOf(stage).front())];
      seconds.emplace_back(CommunicationOf(made.program, step) != nullptr ? 3 : 2);
    }
    const Program ordered = OrderForOverlap(made.program, made.fusion, seconds);
    const auto backward_of = [&](int layer, const Program& program) {
      std::vector<std::string> names;
      for (const Step& step : program.steps) {
        const bool is_own = step.phase == Phase::kBackward && place(step.name, layer) != step.name;
        if (is_own) names.push_back(place(step.name, layer));
      }
      return names;
    };
    if (backward_of(2, made.program) != backward_of(3, made.program)) continue;
    changed += backward_of(2, made.program) != backward_of(2, ordered);
    EXPECT_EQ(backward_of(2, ordered), backward_of(3, ordered));
  }
  EXPECT_GE(changed, 4);
}

}  // namespace
}  // namespace cleave::ir
