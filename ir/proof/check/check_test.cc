#include "ir/proof/check/check.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/seed.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

// The errors of both halves of the proof; empty when the program is valid.
std::string Verdict(const Graph& graph, const Program& program) {
  const std::vector<std::string> findings = CheckStatically(program);
  if (!findings.empty()) return absl::StrJoin(findings, "\n");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  return report.ok() ? "" : std::string(report.status().message());
}

Program PartitionOrDie(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Program> program = Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

Distributed DistributeOrDie(const Graph& graph, const Plan& plan) {
  absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  return *std::move(distributed);
}

// What is left of large numbers is not lost, on one device or on many.
TEST(CheckTest, RowsMaskedAsAWholeHaveASoftmax) {
  for (const OpKind kind : {OpKind::kSoftmax, OpKind::kLogSoftmax}) {
    GraphBuilder builder;
    const OpId masked =
        builder.Add(OpKind::kConstant, {}, {{attribute::kShape, Shape{2, 3}}, {attribute::kValue, -1e9}}, "masked");
    const OpId x = builder.Add(OpKind::kAdd, {AddInput(builder, "x", {2, 3}), masked}, {}, "scores");
    const OpId rows = builder.Add(kind, {x}, {}, "rows");
    const Graph graph = std::move(builder).Build();
    Plan plan;
    plan.mesh = Mesh::OfDevices(2);
    for (const Op& op : graph.ops) plan.ops.push_back({.strategy = Strategy::Replicated(RuleOf(graph, op))});
    plan.ops[rows].strategy.cuts[1] = {AxisId(0)};
    const Distributed distributed = DistributeOrDie(graph, plan);
    const Program program = PartitionOrDie(distributed.graph, distributed.plan);
    const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
    EXPECT_TRUE(report.ok()) << report.status() << " of " << OpKindName(kind);
  }
}

TEST(CheckTest, AcceptsRandomPlansOnManyMeshes) {
  std::mt19937_64 random(TestSeed());
  const std::vector<Graph> graphs = {TestMlp(), TestTiedWeights(), TestAttention()};
  for (const Graph& graph : graphs) {
    for (const int64_t devices : {1, 2, 3, 4, 5, 6, 7, 8, 12}) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        const Distributed distributed = DistributeOrDie(graph, RandomPlan(graph, Mesh::OfDevices(devices), random));
        const Program program = PartitionOrDie(distributed.graph, distributed.plan);
        ASSERT_EQ(Verdict(distributed.graph, program), "") << graph.model << " on " << devices << " devices";
        const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
        ASSERT_TRUE(report.ok()) << report.status() << " of " << graph.model << " on " << devices << " devices";
      }
    }
  }
}

// Every op that looks at rows as a whole is cut along them over the whole mesh, and so are its gradients.
Plan CutRowsPlan(const Graph& graph, const Mesh& mesh) {
  Plan plan = DataParallelPlan(graph, mesh);
  for (const Op& op : graph.ops) {
    const Rule rule = RuleOf(graph, op);
    const auto inner = std::find_if(rule.factors.begin(), rule.factors.end(),
                                    [](const Factor& factor) { return factor.kind == FactorKind::kInner; });
    if (inner == rule.factors.end()) continue;
    Strategy strategy = Strategy::Replicated(rule);
    strategy.cuts[static_cast<size_t>(inner - rule.factors.begin())] = mesh.AxisIds();
    plan.ops[op.id].strategy = std::move(strategy);
  }
  return plan;
}

TEST(CheckTest, AcceptsCutRows) {
  for (const Graph& graph : {TestMlp(), TestTiedWeights(), TestAttention()}) {
    for (const int64_t devices : {2, 3, 4, 5}) {
      const Distributed distributed = DistributeOrDie(graph, CutRowsPlan(graph, Mesh::OfDevices(devices)));
      EXPECT_GT(distributed.graph.ops.size(), graph.ops.size());
      const Program program = PartitionOrDie(distributed.graph, distributed.plan);
      EXPECT_EQ(Verdict(distributed.graph, program), "") << graph.model << " on " << devices << " devices";
      const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
      EXPECT_TRUE(report.ok()) << report.status() << " of " << graph.model << " on " << devices << " devices";
    }
  }
}

// A recurrence and its gradients, whose steps are cut into even, uneven and empty pieces, and into more of them than a
// program has ranks that is simulated. What comes into each piece matters.
TEST(CheckTest, StepsOfScansAreCut) {
  const std::pair<int64_t, int64_t> cuts[] = {{24, 2}, {23, 3}, {130, 4}, {5, 8}, {70, 32}};
  for (const auto& [steps, devices] : cuts) {
    SCOPED_TRACE(testing::Message() << steps << " steps on " << devices << " devices");
    const Graph graph = TestScan(steps);
    Distributed distributed = DistributeOrDie(graph, CutRowsPlan(graph, Mesh::OfDevices(devices)));
    const Program program = PartitionOrDie(distributed.graph, distributed.plan);
    EXPECT_EQ(Verdict(distributed.graph, program), "");
    const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
    EXPECT_TRUE(report.ok()) << report.status();
    int spoiled = 0;
    for (Op& op : distributed.graph.ops) {
      if (op.kind != OpKind::kScan) continue;
      const Attributes right = op.attributes;
      op.attributes.Set(attribute::kReverse, !op.attributes.Get(attribute::kReverse));
      const Program wrong = PartitionOrDie(distributed.graph, distributed.plan);
      EXPECT_FALSE(CheckBySimulation(graph, distributed, wrong).ok()) << op.name;
      op.attributes = right;
      ++spoiled;
    }
    EXPECT_GE(spoiled, 2);  // The states before each element follow from those of the op itself.
  }
}

// The program follows the distributed graph, but that graph is not what the model means.
TEST(CheckTest, CatchesAWrongDistributedForm) {
  const Graph graph = TestAttention();
  Distributed distributed = DistributeOrDie(graph, CutRowsPlan(graph, Mesh::OfDevices(2)));
  int spoiled = 0;
  for (Op& op : distributed.graph.ops) {
    if (op.kind != OpKind::kConstant || op.name.find(".epsilon") == std::string::npos) continue;
    op.attributes.Set(attribute::kValue, 0.5);
    ++spoiled;
  }
  ASSERT_GT(spoiled, 0);
  const Program program = PartitionOrDie(distributed.graph, distributed.plan);
  EXPECT_EQ(Verdict(distributed.graph, program), "");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, distributed, program);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("distributed form of"), std::string::npos) << report.status();
}

// The second axis of [a b c] is the second one of [c b a] too, but with other neighbours behind it.
TEST(CheckTest, APermuteNamesEveryAxisAlongWhichPiecesMove) {
  const absl::StatusOr<Mesh> mesh =
      Mesh::Create({{.name = "a", .size = 2}, {.name = "b", .size = 2}, {.name = "c", .size = 3}});
  ASSERT_TRUE(mesh.ok());
  GraphBuilder builder;
  const OpId x = AddInput(builder, "x", {12});
  const OpId cut = builder.Add(OpKind::kAbs, {x}, {}, "cut");
  const OpId cut_otherwise = builder.Add(OpKind::kTanh, {cut}, {}, "cut_otherwise");
  builder.mutable_graph().loss = builder.Add(OpKind::kReduceSum, {cut_otherwise}, {}, "sum");
  const Graph graph = std::move(builder).Build();
  Plan plan{.mesh = *mesh, .ops = {}, .search = {}};
  for (const Op& op : graph.ops)
    plan.ops.push_back({.strategy = Strategy::Replicated(RuleOf(graph, op)), .output = {}});
  const AxisList axes = mesh->AxisIds();
  plan.ops[cut].strategy.cuts[0] = axes;
  plan.ops[cut_otherwise].strategy.cuts[0] = {axes.rbegin(), axes.rend()};
  Program program = PartitionOrDie(graph, plan);
  EXPECT_EQ(Verdict(graph, program), "");
  const auto permute = std::find_if(program.steps.begin(), program.steps.end(), [](const Step& step) {
    const Collective* const collective = std::get_if<Collective>(&step.action);
    return collective != nullptr && collective->kind == CollectiveKind::kPermute;
  });
  ASSERT_NE(permute, program.steps.end());
  AxisList& sent_along = std::get<Collective>(permute->action).axes;
  sent_along.erase(std::find(sent_along.begin(), sent_along.end(), axes[1]));
  EXPECT_THAT(CheckStatically(program), testing::Contains(testing::HasSubstr("cannot turn")));
}

TEST(CheckTest, ShortensMeshesOfManyRanks) {
  const Graph graph = TestMlp();
  const Plan plan = DataParallelPlan(graph, Mesh::OfDevices(1024));
  const Program program = PartitionOrDie(graph, plan);
  EXPECT_EQ(Verdict(graph, program), "");
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, program);
  ASSERT_TRUE(report.ok());
  EXPECT_LE(report->ranks, 16);
}

// A check that expanded each group once for every member would take hours here.
TEST(CheckTest, ChecksTensOfThousandsOfRanks) {
  const Graph graph = TestMlp();
  EXPECT_TRUE(CheckStatically(PartitionOrDie(graph, DataParallelPlan(graph, Mesh::OfDevices(65536)))).empty());
}

TEST(CheckTest, ShortensMeshesOfRandomPlans) {
  std::mt19937_64 random(TestSeed());
  const Graph graph = TestMlp();
  for (const int64_t devices : {32, 60, 64}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Distributed distributed = DistributeOrDie(graph, RandomPlan(graph, Mesh::OfDevices(devices), random));
      const absl::StatusOr<SimulationReport> report =
          CheckBySimulation(graph, distributed, PartitionOrDie(distributed.graph, distributed.plan));
      ASSERT_TRUE(report.ok()) << report.status() << " on " << devices << " devices";
      EXPECT_LE(report->ranks, 16);
    }
  }
}

}  // namespace
}  // namespace cleave::ir
