// What a planner answers does not depend on what it was asked before, nor on the names of axes.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/program/redistribute/sampling.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

// Of up to three axes, some with equal sizes and weights.
Mesh SmallMesh(std::mt19937& random) {
  static const std::vector<std::vector<int64_t>> kSizes = {{2, 2}, {3, 2}, {2, 2, 2}, {3, 2, 2}};
  const std::vector<int64_t>& sizes = kSizes[random() % kSizes.size()];
  std::vector<double> weights(sizes.size(), 1);
  if (random() % 2 == 0) weights.back() = 0.1;
  return MeshOf(sizes, weights);
}

TensorType SmallType(std::mt19937& random) {
  TensorType type{random() % 2 == 0 ? DType::kF32 : DType::kBf16, Shape(1 + random() % 3)};
  for (int64_t& size : type.shape) size = 1 + static_cast<int64_t>(random() % 9);
  return type;
}

TEST(RedistributionPlannerTest, AnswersDoNotDependOnWhatWasAskedBefore) {
  constexpr uint32_t kSeed = 8;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 20; ++round) {
    const Mesh mesh = SmallMesh(random);
    std::vector<TensorType> types = {SmallType(random), SmallType(random)};
    std::vector<std::pair<Layout, Layout>> questions;
    for (int i = 0; i < 60; ++i) {
      const size_t rank = types[static_cast<size_t>(i % 2)].shape.size();
      questions.emplace_back(RandomLayout(mesh, rank, true, random), RandomLayout(mesh, rank, false, random));
    }
    std::vector<size_t> order(questions.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<Redistribution> alone;
    for (size_t i : order) {
      alone.push_back(*PlanRedistribution(mesh, types[i % 2], questions[i].first, questions[i].second));
    }
    for (int times = 0; times < 2; ++times) {
      std::shuffle(order.begin(), order.end(), random);
      RedistributionPlanner planner(mesh);
      for (size_t i : order) {
        SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": "
                                        << LayoutText(questions[i].first, mesh) << " -> "
                                        << LayoutText(questions[i].second, mesh));
        EXPECT_EQ(*planner.Plan(types[i % 2], questions[i].first, questions[i].second), alone[i]);
      }
    }
  }
}

TEST(RedistributionPlannerTest, AnswersOverFourAxesAreThoseOfOneWayAlone) {
  constexpr uint32_t kSeed = 10;
  const Mesh mesh = MeshOf({2, 2, 2, 2}, {1, 1, 0.1, 0.1});
  const TensorType wide{DType::kF32, {6, 4, 5}}, narrow{DType::kBf16, {6, 4, 5}};
  std::mt19937 random(kSeed);
  RedistributionPlanner planner(mesh);
  for (int round = 0; round < 8; ++round) {
    const Layout source = RandomLayout(mesh, 3, true, random), target = RandomLayout(mesh, 3, false, random);
    for (const TensorType& type : {wide, narrow, wide}) {
      EXPECT_EQ(*planner.Plan(type, source, target), *PlanRedistribution(mesh, type, source, target))
          << "seed " << kSeed << ": " << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh);
    }
  }
}

// The same layout with axis `names[i]` in the place of axis i.
Layout Renamed(Layout layout, const AxisList& names) {
  const auto rename = [&](AxisId& axis) { axis = names[static_cast<size_t>(axis.value())]; };
  for (AxisList& axes : layout.dimensions) std::for_each(axes.begin(), axes.end(), rename);
  for (PartialAxis& entry : layout.partial) rename(entry.axis);
  std::sort(layout.partial.begin(), layout.partial.end(),
            [](const PartialAxis& a, const PartialAxis& b) { return a.axis < b.axis; });
  return layout;
}

TEST(RedistributionPlannerTest, EqualAxesMayChangeNames) {
  constexpr uint32_t kSeed = 9;
  const Mesh mesh = MeshOf({2, 2, 2}, {1, 1, 1});
  std::mt19937 random(kSeed);
  for (int round = 0; round < 400; ++round) {
    RedistributionPlanner planner(mesh);
    const TensorType type = SmallType(random);
    const Layout source = RandomLayout(mesh, type.shape.size(), false, random);
    const Layout target = RandomLayout(mesh, type.shape.size(), false, random);
    AxisList names = mesh.AxisIds();
    std::shuffle(names.begin(), names.end(), random);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round << ": " << ShapeText(type.shape) << " "
                                    << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh));
    const Redistribution plan = *planner.Plan(type, source, target);
    const Redistribution other = *planner.Plan(type, Renamed(source, names), Renamed(target, names));
    EXPECT_EQ(plan.cost, other.cost);
    ASSERT_EQ(plan.moves.size(), other.moves.size());
    for (size_t i = 0; i < plan.moves.size(); ++i) {
      EXPECT_EQ(plan.moves[i].collective, other.moves[i].collective);
      EXPECT_EQ(Renamed(plan.moves[i].result, names), other.moves[i].result);
    }
  }
}

}  // namespace
}  // namespace cleave::ir
