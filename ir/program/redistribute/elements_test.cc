// Every element arrives where it belongs.
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/program/redistribute/sampling.h"
#include "ir/program/redistribute/simulation.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

void ExpectCorrectPaths(const Mesh& mesh, const Shape& shape, Reduction reduction, size_t every = 1) {
  const TensorType type{DType::kF32, shape};
  const std::vector<Layout> layouts = AllLayouts(mesh, type.rank(), {reduction});
  size_t pair = 0;
  for (const Layout& source : layouts) {
    for (const Layout& target : layouts) {
      if (pair++ % every != 0 || !PlanRedistribution(mesh, type, source, target).ok()) continue;
      SCOPED_TRACE(LayoutText(source, mesh) + " -> " + LayoutText(target, mesh));
      ExpectCorrectPath(mesh, type, source, target, reduction);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ElementsTest, MovesTheRightElements) { ExpectCorrectPaths(MeshOf({2, 2, 2}), {8, 8}, Reduction::kSum); }
TEST(ElementsTest, MovesTheRightUnevenElements) { ExpectCorrectPaths(MeshOf({2, 3}), {5, 7}, Reduction::kMax); }
TEST(ElementsTest, MovesTheRightElementsWhereRanksAreEmpty) {
  ExpectCorrectPaths(MeshOf({3, 2}), {2, 3}, Reduction::kSum);
}
TEST(ElementsTest, MovesTheRightElementsOnSixteenRanks) {
  ExpectCorrectPaths(MeshOf({2, 2, 2, 2}, {1, 1, 0.1, 0.1}), {5, 6}, Reduction::kSum, 1009);
}
TEST(ElementsTest, MovesTheRightElementsOnManyAxes) {
  constexpr uint32_t kSeed = 3;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 80; ++round) {
    const Mesh mesh = Mesh::OfDevices(std::vector<int64_t>{24, 64, 96}[round % 3]);
    const TensorType type{DType::kF32, round % 2 == 0 ? Shape{9, 10} : Shape{8, 3, 16}};
    const Layout source = RandomLayout(mesh, type.shape.size(), true, random);
    const Layout target = RandomLayout(mesh, type.shape.size(), false, random);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << LayoutText(source, mesh)
                                    << " -> " << LayoutText(target, mesh));
    ExpectCorrectPath(mesh, type, source, target, Reduction::kSum);
    ASSERT_FALSE(HasFatalFailure());
  }
}

}  // namespace
}  // namespace cleave::ir
