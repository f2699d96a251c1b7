#include "search/solve/propagate/reach.h"

#include <string>

#include "gtest/gtest.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// The products that the cut of `pin` by `letters` reaches on 2 devices.
std::string Reached(const ir::Graph& graph, const std::string& pin, const std::string& letters) {
  const GraphFacts facts = FactsOf(graph);
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  const ir::OpId pinned = *graph.Find(pin);
  const OpDemands pins = {{pinned, {.strategy = testing::Letters(graph, mesh, pinned, letters), .output = {}}}};
  const Assignment assignment(facts, mesh, {.dataset = {}}, pins);
  const Reach reach(assignment, pins, {ir::AxisId(0)});
  std::string names;
  for (const ir::Op& op : graph.ops) {
    if (facts.roles[op.id] != Role::kProduct || op.id == pinned || !reach.reaches(op.id)) continue;
    names += (names.empty() ? "" : " ") + op.name;
  }
  return names;
}

TEST(ReachTest, RowsGoThroughAllLayers) {
  const ir::Graph graph = testing::Mlp(64, {16, 32, 32, 8});
  EXPECT_EQ(Reached(graph, "h0", "i"), "h1 h2");
  EXPECT_EQ(Reached(graph, "h2", "i"), "h0 h1");
}

TEST(ReachTest, APartialSumEndsTheWay) {
  const ir::Graph graph = testing::Mlp(64, {16, 32, 32, 8});
  EXPECT_EQ(Reached(graph, "h0", "j"), "h1");
  EXPECT_EQ(Reached(graph, "h1", "k"), "h0");
}

TEST(ReachTest, BothReadersOfAValue) {
  const ir::Graph graph = testing::TwoReaders(64, 128);
  EXPECT_EQ(Reached(graph, "first", "j"), "by_rows by_columns");
  EXPECT_EQ(Reached(graph, "by_rows", "i"), "first by_columns");
}

}  // namespace
}  // namespace cleave::search
