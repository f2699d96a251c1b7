#include "ir/graph/unique_names.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(UniqueNamesTest, NumbersWhatIsTaken) {
  Graph graph;
  graph.ops.resize(2);
  graph.ops[OpId(0)].name = "h1.view";
  graph.ops[OpId(1)].name = "h1.view_2";
  UniqueNames names(graph);
  EXPECT_EQ(names.Take("h2.view"), "h2.view");
  EXPECT_EQ(names.Take("h1.view"), "h1.view_1");
  EXPECT_EQ(names.Take("h1.view"), "h1.view_3");
  EXPECT_EQ(names.Take("h2.view"), "h2.view_1");
}

}  // namespace
}  // namespace cleave::ir
