#include "ir/program/redistribute/exhaustive.h"

#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "ir/program/redistribute/redistribute.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/meshes.h"

namespace cleave::ir {
namespace {

constexpr uint32_t kSeed = 1;

// From every `every`-th layout to all layouts.
int64_t ExpectCheapest(const Mesh& mesh, const Shape& shape, size_t every = 1, size_t first = 0) {
  const TensorType type{DType::kF32, shape};
  const Exhaustive exhaustive(mesh, type, {Reduction::kSum, Reduction::kMax});
  RedistributionPlanner planner(mesh);
  int64_t pairs = 0;
  for (size_t i = first % exhaustive.layouts().size(); i < exhaustive.layouts().size(); i += every) {
    const Layout& source = exhaustive.layouts()[i];
    const std::map<Layout, Exhaustive::Distance> distances = exhaustive.From(source);
    for (const Layout& target : exhaustive.layouts()) {
      if (!UsesEveryAxis(mesh, source, target)) continue;
      const std::string wrong = Disagreement(planner, type, source, target, distances);
      EXPECT_EQ(wrong, "");
      if (!wrong.empty()) return pairs;
      ++pairs;
    }
  }
  return pairs;
}

TEST(ExhaustiveTest, EveryPairOnOneAxis) {
  for (int64_t ranks : {2, 3, 4, 5, 7, 8}) {
    for (const Shape& shape : {Shape{}, Shape{13}, Shape{8, 3}, Shape{2, 35, 4}, Shape{1, 2, 3, 16}}) {
      ExpectCheapest(MeshOf({ranks}, {1}), shape);
    }
  }
}

TEST(ExhaustiveTest, EveryPairOnTwoAxes) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 2}, {3, 2}, {2, 3}, {2, 4}, {4, 2}}) {
    for (const std::vector<double>& weights : {std::vector<double>{1, 1}, {1, 0.1}, {0.25, 1}}) {
      for (const Shape& shape : {Shape{12}, Shape{5, 7}, Shape{16, 24}, Shape{4, 3, 5}}) {
        ExpectCheapest(MeshOf(sizes, weights), shape);
      }
    }
  }
}

TEST(ExhaustiveTest, EveryPairOnThreeAxes) {
  for (const std::vector<double>& weights : {std::vector<double>{1, 1, 1}, {1, 0.1, 0.1}, {1, 0.3, 0.05}}) {
    for (const Shape& shape : {Shape{13}, Shape{8, 16}, Shape{7, 3}}) ExpectCheapest(MeshOf({2, 2, 2}, weights), shape);
  }
}

TEST(ExhaustiveTest, SomeSourcesOfHigherRank) {
  std::mt19937 random(kSeed);
  int64_t pairs = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", round " << round);
    static const std::vector<std::vector<int64_t>> kSizes = {{2, 2, 2}, {3, 2}, {2, 4}};
    static const std::vector<double> kWeights = {1, 1, 0.5, 0.1};
    const std::vector<int64_t>& sizes = kSizes[random() % kSizes.size()];
    std::vector<double> weights;
    for (size_t i = 0; i < sizes.size(); ++i) weights.push_back(kWeights[random() % kWeights.size()]);
    Shape shape(3 + random() % 2);
    for (int64_t& size : shape) size = 1 + static_cast<int64_t>(random() % 9) * (random() % 3 == 0 ? 8 : 1);
    pairs += ExpectCheapest(MeshOf(sizes, weights), shape, 17, random());
  }
  EXPECT_GT(pairs, 2000);
}

// Where a plan makes a full copy on the way, every way without one costs more or takes more collectives.
TEST(ExhaustiveTest, AFullGatherHappensOnlyWhereItIsCheapest) {
  int full_copies = 0;
  for (const Shape& shape : {Shape{8, 16}, Shape{3, 2}, Shape{1, 9}, Shape{5, 6}}) {
    for (const std::vector<double>& weights : {std::vector<double>{1, 1, 1}, {1, 0.1, 0.1}}) {
      const Mesh mesh = MeshOf({2, 2, 2}, weights);
      const TensorType type{DType::kF32, shape};
      const Exhaustive exhaustive(mesh, type, {Reduction::kSum});
      RedistributionPlanner planner(mesh);
      const Layout whole = Layout::Replicated(type.rank());
      for (const Layout& source : exhaustive.layouts()) {
        if (source == whole) continue;
        const std::map<Layout, Exhaustive::Distance> around = exhaustive.From(source, &whole);
        for (const Layout& target : exhaustive.layouts()) {
          const auto plan = planner.Plan(type, source, target);
          if (!plan.ok() || target == whole || target == source || !UsesEveryAxis(mesh, source, target)) continue;
          bool is_full_copy = false;
          for (const Move& move : plan->moves) is_full_copy = is_full_copy || move.result == whole;
          if (!is_full_copy) continue;
          ++full_copies;
          const auto other = around.find(target);
          if (other == around.end()) continue;
          EXPECT_LE(plan->cost, other->second.cost + 1e-9)
              << ShapeText(shape) << " " << LayoutText(source, mesh) << " -> " << LayoutText(target, mesh);
          EXPECT_TRUE(plan->cost < other->second.cost - 1e-9 || plan->collectives <= other->second.collectives);
        }
      }
    }
  }
  EXPECT_GT(full_copies, 0);
}

}  // namespace
}  // namespace cleave::ir
