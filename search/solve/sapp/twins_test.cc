#include "search/solve/sapp/twins.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// The names of an op's twins, itself included: "left right".
std::string TwinNames(const ir::Graph& graph, const std::string& op) {
  const GraphFacts facts = FactsOf(graph);
  const Twins twins = TwinsAmong(facts, facts.set_ops);
  std::string names;
  for (ir::OpId twin : twins.of(*graph.Find(op))) {
    names += (names.empty() ? "" : " ") + graph.op(twin).name;
  }
  return names;
}

TEST(TwinsTest, BranchesOfOneShapeAreTwins) {
  const ir::Graph graph = testing::TwinBranches();
  EXPECT_EQ(TwinNames(graph, "left"), "left right");
  EXPECT_EQ(TwinNames(graph, "right.flat"), "left.flat right.flat");
  EXPECT_EQ(TwinNames(graph, "sum"), "sum");
}

TEST(TwinsTest, RepeatedLayersAreNot) {
  const ir::Graph mlp = testing::Mlp(64, {32, 32, 32, 32});
  EXPECT_EQ(TwinNames(mlp, "h1"), "h1");
}

// Queries and keys are made alike, but the product of both reads them in different places.
TEST(TwinsTest, PlacesOfAProductDiffer) {
  const ir::Graph graph = testing::Gpt({.layers = 1});
  const GraphFacts facts = FactsOf(graph);
  for (const std::vector<ir::OpId>& twins : TwinsAmong(facts, facts.set_ops).lists) {
    const bool has_product =
        std::any_of(twins.begin(), twins.end(), [&](ir::OpId op) { return facts.roles[op] == Role::kProduct; });
    EXPECT_FALSE(has_product && twins.size() > 1) << graph.op(twins[0]).name;
  }
}

}  // namespace
}  // namespace cleave::search
