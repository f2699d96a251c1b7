#include "ir/proof/check/short_meshes.h"

#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/graph/graph.h"
#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

constexpr uint64_t kShortMeshSeed = 7;

Program ProgramOf(const Graph& graph, const Plan& plan) {
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  absl::StatusOr<Program> program = Partition(distributed->graph, distributed->plan);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// Axes longer than 1 in some mesh.
std::set<int> KeptAxes(const std::vector<Mesh>& meshes) {
  std::set<int> kept;
  for (const Mesh& mesh : meshes) {
    for (int axis = 0; axis < mesh.axis_count(); ++axis) {
      if (mesh.axis(AxisId(axis)).size > 1) kept.insert(axis);
    }
  }
  return kept;
}

TEST(ShortMeshesTest, ASmallMeshStays) {
  const Graph graph = TestMlp();
  const Program program = ProgramOf(graph, DataParallelPlan(graph, Mesh::OfDevices(12)));
  const std::vector<Mesh> meshes = ShortMeshesOf(program).meshes;
  ASSERT_EQ(meshes.size(), 1u);
  EXPECT_EQ(meshes.front(), program.mesh);
}

TEST(ShortMeshesTest, OfAxesThatAreTreatedAlikeTwoStay) {
  const Graph graph = TestMlp();
  const std::vector<Mesh> meshes =
      ShortMeshesOf(ProgramOf(graph, DataParallelPlan(graph, Mesh::OfDevices(1024)))).meshes;
  ASSERT_EQ(meshes.size(), 1u);
  EXPECT_EQ(meshes.front().rank_count(), 4);
}

TEST(ShortMeshesTest, LongAxesBecomeThree) {
  const Graph graph = TestMlp();
  const std::vector<Mesh> meshes =
      ShortMeshesOf(ProgramOf(graph, DataParallelPlan(graph, Mesh::OfDevices(101)))).meshes;
  ASSERT_EQ(meshes.size(), 1u);
  EXPECT_EQ(meshes.front().rank_count(), 3);
}

TEST(ShortMeshesTest, EveryAxisStaysSomewhere) {
  std::mt19937_64 random(kShortMeshSeed);
  const Graph graph = TestAttention();
  for (const int64_t devices : {64, 210, 1024}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Program program = ProgramOf(graph, RandomPlan(graph, Mesh::OfDevices(devices), random));
      const ShortMeshes short_meshes = ShortMeshesOf(program);
      for (const Mesh& mesh : short_meshes.meshes) EXPECT_LE(mesh.rank_count(), kMostRanks);
      EXPECT_GE(KeptAxes(short_meshes.meshes).size() + short_meshes.left_out.size(),
                static_cast<size_t>(program.mesh.axis_count()));
    }
  }
}

// `op` is cut along `factor` over `axis`, and everything else is whole.
Plan PlanWithCut(const Graph& graph, const Mesh& mesh, OpId op, int factor, AxisId axis) {
  Plan plan;
  plan.mesh = mesh;
  for (const Op& other : graph.ops) {
    plan.ops.push_back({.strategy = Strategy::Replicated(RuleOf(graph, other)), .output = std::nullopt});
  }
  plan.ops[op].strategy.cuts[static_cast<size_t>(factor)] = {axis};
  return plan;
}

absl::StatusOr<SimulationReport> Proof(const Graph& graph, const Plan& plan) {
  EXPECT_TRUE(VerifyPlan(graph, plan).empty()) << VerifyPlan(graph, plan).front();
  const absl::StatusOr<Distributed> distributed = Distribute(graph, plan);
  EXPECT_TRUE(distributed.ok()) << distributed.status();
  return CheckBySimulation(graph, *distributed, *Partition(distributed->graph, distributed->plan));
}

// Rows are cut by both axes, and after the reshape, where they are a part of a dimension, by one of them alone.
TEST(ShortMeshesTest, PartsOfADimensionStayDivisible) {
  GraphBuilder builder;
  const OpId rows = AddInput(builder, "rows", {5, 2});
  const OpId row = builder.Add(OpKind::kReshape, {rows}, {{attribute::kShape, Shape{10}}}, "row");
  const Graph graph = std::move(builder).Build();
  Plan plan = PlanWithCut(graph, MeshOf({5, 5}), row, 0, AxisId(1));
  plan.ops[rows].strategy.cuts[0] = {AxisId(0)};
  const absl::StatusOr<SimulationReport> report = Proof(graph, plan);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->ranks, 15);
}

// The candidates of 17 pieces are a dimension whose major part the axis cuts: a shorter axis would divide no piece
// evenly.
TEST(ShortMeshesTest, PiecesOfRowsStayPieces) {
  for (const int64_t length : {17, 34}) {
    GraphBuilder builder;
    const OpId x = AddInput(builder, "x", {3, 40});
    const OpId best = builder.Add(OpKind::kTopKIndices, {x}, {{attribute::kK, 4}}, "best");
    const Graph graph = std::move(builder).Build();
    const Rule rule = RuleOf(graph, graph.op(best));
    const absl::StatusOr<SimulationReport> report =
        Proof(graph, PlanWithCut(graph, MeshOf({length}), best, rule.inputs[0][1][0], AxisId(0)));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->ranks, 17);
  }
}

// Each op cuts another dimension into eight, so eight ranks need 16 elements along each of them.
TEST(ShortMeshesTest, FewerRanksWhereTensorsWouldBeTooLarge) {
  constexpr size_t kDimensions = 6;
  GraphBuilder builder;
  OpId x = AddInput(builder, "x", Shape(kDimensions, 32));
  for (size_t d = 0; d < kDimensions; ++d) x = builder.Add(OpKind::kTanh, {x}, {}, "tanh");
  const Graph graph = std::move(builder).Build();
  const Mesh mesh = Mesh::OfDevices(8);
  Plan plan = PlanWithCut(graph, mesh, OpId(0), 0, AxisId(0));
  for (size_t d = 0; d < kDimensions; ++d) {
    plan.ops[OpId(static_cast<int>(d) + 1)].strategy.cuts[d] = {AxisId(0), AxisId(1), AxisId(2)};
  }
  const absl::StatusOr<SimulationReport> report = Proof(graph, plan);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->too_large.has_value());
  EXPECT_EQ(report->ranks, 4);
}

}  // namespace
}  // namespace cleave::ir
