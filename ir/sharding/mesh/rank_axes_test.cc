#include "ir/sharding/mesh/rank_axes.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(RankAxesTest, AreProductsOfMeshAxes) {
  const std::vector<RankAxis> axes = {{"dp", 4}, {"one", 1}, {"tp", 6}};
  const Mesh mesh = *Mesh::Create({{.name = "dp.0", .size = 2},
                                   {.name = "dp.1", .size = 2},
                                   {.name = "tp.0", .size = 3},
                                   {.name = "tp.1", .size = 2}});
  EXPECT_EQ(MeshAxesOf(axes, {1}, mesh), (AxisList{AxisId(0), AxisId(1)}));
  EXPECT_EQ(MeshAxesOf(axes, {2}, mesh), AxisList());
  EXPECT_EQ(MeshAxesOf(axes, {4}, mesh), (AxisList{AxisId(2), AxisId(3)}));
  EXPECT_EQ(MeshAxesOf(axes, {7}, mesh).size(), 4u);
  EXPECT_DEATH(MeshAxesOf({{"dp", 3}, {"tp", 8}}, {1}, mesh), "cuts across dp");
  EXPECT_DEATH(MeshAxesOf({{"world", 48}}, {1}, mesh), "ends within world");
}

}  // namespace
}  // namespace cleave::ir
