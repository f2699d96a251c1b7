#include "ir/proof/check/short_meshes.h"

#include <random>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/graph/graph.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/sharding/plan/plan.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
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

}  // namespace
}  // namespace cleave::ir
