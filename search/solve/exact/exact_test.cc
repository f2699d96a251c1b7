#include "search/solve/exact/exact.h"

#include <string>

#include "gtest/gtest.h"
#include "search/solve/sapp/sapp.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

using testing::Gpt;
using testing::Mlp;
using testing::SeedNetwork;

struct BestFound {
  ExactResult result;
  Cost cost;  // Of the assignment.
};

BestFound Best(const ir::Graph& graph, std::vector<ir::MeshAxis> axes, double gradient_weight) {
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, *ir::Mesh::Create(std::move(axes)), {.gradient_weight = gradient_weight, .dataset = {}},
                        {});
  Sapp(assignment);
  const ExactResult result = FindBest(assignment, Freedom::Whole(assignment.table()));
  return {.result = result, .cost = assignment.cost()};
}

std::vector<ir::MeshAxis> Axes(int count) {
  std::vector<ir::MeshAxis> axes;
  for (int i = 0; i < count; ++i) axes.push_back({.name = "m" + std::to_string(i), .size = 2});
  return axes;
}

void ExpectProven(const BestFound& found, double cost) {
  EXPECT_TRUE(found.result.is_proven);
  EXPECT_NEAR(found.result.cost, cost, 1e-9 * cost);
  EXPECT_EQ(found.result.lower_bound, found.result.cost);
  EXPECT_EQ(found.cost.price, found.result.cost);
}

// The best of all plans is known from enumeration.
TEST(ExactTest, ProvesTheOptimaOfTheSeedNetwork) {
  ExpectProven(Best(SeedNetwork(), Axes(3), 0.1), 298547.2);
  ExpectProven(Best(SeedNetwork(), Axes(3), 0.25), 393856);
  ExpectProven(Best(SeedNetwork(), Axes(3), 1), 525568);
}

TEST(ExactTest, ProvesTheOptimaOfEqualLayers) {
  const std::vector<int64_t> narrow(7, 32), wide(7, 256);
  const std::vector<ir::MeshAxis> four = {{.name = "m0", .size = 4}};
  ExpectProven(Best(Mlp(256, narrow), four, 1), 36864);
  ExpectProven(Best(Mlp(256, narrow), four, 0.1), 3686.4);
  ExpectProven(Best(Mlp(32, wide), four, 1), 245760);
  const std::vector<ir::MeshAxis> hierarchy = {{.name = "m0", .size = 2, .link = "network", .weight = 1},
                                               {.name = "m1", .size = 2, .link = "host", .weight = 0.1}};
  ExpectProven(Best(Mlp(256, narrow), hierarchy, 1), 14745.6);
}

TEST(ExactTest, ProvesByCountsWhereStrategiesAreTooMany) {
  const BestFound found = Best(Gpt({.layers = 1}), Axes(3), 0.1);
  EXPECT_TRUE(found.result.is_proven);
}

TEST(ExactTest, LeavesAGapWhereTheBoundIsNotMet) {
  const BestFound found = Best(SeedNetwork(), Axes(6), 0.1);
  ASSERT_TRUE(found.result.lower_bound.has_value());
  EXPECT_LE(*found.result.lower_bound, found.result.cost);
  EXPECT_GT(*found.result.lower_bound, 0.5 * found.result.cost);
}

TEST(ExactTest, SaysThatThereIsNoBoundWhereCountsAreTooMany) {
  std::vector<ir::MeshAxis> axes = Axes(7);
  for (int i = 0; i < 7; ++i)
    axes.push_back({.name = "n" + std::to_string(i), .size = 2, .link = "host", .weight = 0.1});
  const BestFound found = Best(Gpt({.layers = 1}), axes, 0.1);
  EXPECT_FALSE(found.result.lower_bound.has_value());
  EXPECT_FALSE(found.result.is_proven);
  EXPECT_EQ(found.cost.impossible, 0);
}

}  // namespace
}  // namespace cleave::search
