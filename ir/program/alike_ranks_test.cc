#include "ir/program/alike_ranks.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ir/graph/graph.h"
#include "ir/program/partition/partition.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_plan.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

std::vector<Shape> LocalShapes(const Program& program, int rank) {
  std::vector<Shape> shapes;
  for (const Value& value : program.values) {
    for (int64_t moment = 0; moment < MicroBatches(program); ++moment) {
      shapes.push_back(LocalShape(value.layout, program.mesh, value.type.shape, AtMoment(program, rank, moment)));
    }
  }
  return shapes;
}

TEST(AlikeRanksTest, AreThoseWithTheSameLocalShapes) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  int alike = 0, different = 0;
  for (const Graph& graph : {TestMlp(), TestTiedWeights(), TestAttention()}) {
    for (int64_t devices : {1, 3, 6, 8}) {
      const Mesh mesh = Mesh::OfDevices(devices);
      Plan in_micro_batches = DataParallelPlan(graph, mesh);
      in_micro_batches.micro_batches = 2;
      for (const Plan& plan : {RandomPlan(graph, mesh, random), DataParallelPlan(graph, mesh), in_micro_batches}) {
        const Distributed distributed = *Distribute(graph, plan);
        const absl::StatusOr<Program> made = Partition(distributed.graph, distributed.plan);
        if (!made.ok()) continue;  // Micro-batches that do not divide a compound dimension.
        const Program& program = *made;
        const std::vector<int> lowest = LowestAlikeRanks(program);
        ASSERT_EQ(lowest.size(), static_cast<size_t>(devices));
        for (int rank = 0; rank < devices; ++rank) {
          int expected = 0;
          while (LocalShapes(program, expected) != LocalShapes(program, rank)) ++expected;
          EXPECT_EQ(lowest[static_cast<size_t>(rank)], expected);
          ++(expected < rank ? alike : different);
        }
      }
    }
  }
  EXPECT_GT(alike, 10);
  EXPECT_GT(different, 24);  // Rank 0 of each program, and ranks with uneven pieces.
}

}  // namespace
}  // namespace cleave::ir
