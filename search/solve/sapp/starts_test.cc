#include "search/solve/sapp/starts.h"

#include <string>

#include "gtest/gtest.h"
#include "search/model/facts/facts.h"
#include "search/solve/sapp/choices.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

// The letters of the products of a chain of dense layers, "ij ik".
std::string LettersOfLayers(const ir::Graph& graph, const Assignment& assignment) {
  std::string text;
  for (int layer = 0; const std::optional<ir::OpId> op = graph.Find("h" + std::to_string(layer)); ++layer) {
    if (!text.empty()) text += " ";
    text += testing::LettersOf(graph, assignment.mesh(), *op, assignment.strategy(*op));
  }
  return text;
}

std::string UniformLetters(const ir::Graph& graph, int64_t devices, int batch_axes) {
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(devices), {.dataset = {}}, {});
  StartUniform(assignment, batch_axes);
  return LettersOfLayers(graph, assignment);
}

TEST(StartsTest, ColumnsAndContractedDimensionsTakeTurnsInsideOfTheBatch) {
  const ir::Graph graph = testing::Mlp(64, {32, 32, 32, 32, 32});
  EXPECT_EQ(UniformLetters(graph, 4, 2), "ii ii ii ii");
  EXPECT_EQ(UniformLetters(graph, 4, 1), "ij ik ij ik");
  EXPECT_EQ(UniformLetters(graph, 4, 0), "jj kk jj kk");
}

// docs/cost.md has the price.
TEST(StartsTest, BatchOnAllAxesIsDataParallel) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(8), {.gradient_weight = 0.1, .dataset = {}}, {});
  StartUniform(assignment, 3);
  EXPECT_NEAR(assignment.cost().price, 464844.8, 0.1);
}

TEST(StartsTest, EveryStartIsAPlanWhoseProductsUseAllAxes) {
  std::vector<ir::Graph> graphs = {testing::SeedNetwork(), testing::Gpt({}), testing::MixtureOfExperts({})};
  for (uint64_t seed = 1; seed <= 20; ++seed) graphs.push_back(testing::RandomSmallGraph(seed));
  for (size_t g = 0; g < graphs.size(); ++g) {
    const GraphFacts facts = FactsOf(graphs[g]);
    for (const int64_t devices : {2, 3, 6, 8}) {
      const ir::Mesh mesh = ir::Mesh::OfDevices(devices);
      for (int batch_axes = 0; batch_axes <= mesh.axis_count(); ++batch_axes) {
        SCOPED_TRACE("graph " + std::to_string(g) + " on " + mesh.ToString() + ", batch " + std::to_string(batch_axes));
        Assignment assignment(facts, mesh, {.dataset = {}}, {});
        StartUniform(assignment, batch_axes);
        EXPECT_EQ(assignment.cost().impossible, 0);
        for (ir::OpId op : facts.set_ops) {
          const ir::Strategy& strategy = assignment.strategy(op);
          EXPECT_TRUE(ir::VerifyStrategy(strategy, facts.rule(op), mesh).ok()) << facts.op(op).name;
          if (facts.roles[op] != Role::kProduct) continue;
          EXPECT_TRUE(UsesAxes(strategy, facts.rule(op), mesh, mesh.AxisIds())) << facts.op(op).name;
        }
      }
    }
  }
}

TEST(StartsTest, ASnapshotBringsThePlanBack) {
  const ir::Graph graph = testing::Gpt({});
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(8), {.dataset = {}}, {});
  const int empty = assignment.mark();
  StartUniform(assignment, 1);
  const std::vector<Change> snapshot = Snapshot(assignment);
  const Cost cost = assignment.cost();
  IdVector<ir::OpId, int> strategies;
  for (const ir::Op& op : graph.ops) strategies.push_back(assignment.index(op.id));
  assignment.Rollback(empty);
  EXPECT_NE(assignment.cost(), cost);
  assignment.Apply(snapshot);
  EXPECT_NEAR(assignment.cost().price, cost.price, 1e-9 * cost.price);
  for (const ir::Op& op : graph.ops) EXPECT_EQ(assignment.index(op.id), strategies[op.id]) << op.name;
}

}  // namespace
}  // namespace cleave::search
