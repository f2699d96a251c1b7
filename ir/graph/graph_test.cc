#include "ir/graph/graph.h"

#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

TEST(GraphTest, FindAndUsers) {
  Graph graph;
  graph.ops.push_back(Op{.id = OpId(0), .name = "x", .kind = OpKind::kInput});
  graph.ops.push_back(Op{.id = OpId(1), .name = "x.mul", .kind = OpKind::kMul, .inputs = {OpId(0), OpId(0)}});
  graph.ops.push_back(Op{.id = OpId(2), .name = "y", .kind = OpKind::kRelu, .inputs = {OpId(0)}});
  EXPECT_EQ(graph.Find("x.mul"), OpId(1));
  EXPECT_EQ(graph.Find("z"), std::nullopt);
  EXPECT_EQ(Users(graph)[OpId(0)], (std::vector<OpId>{OpId(1), OpId(1), OpId(2)}));
  EXPECT_TRUE(Users(graph)[OpId(2)].empty());
}

TEST(GraphTest, PhaseNamesReadBack) {
  for (Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kWeights, Phase::kUpdate}) {
    EXPECT_EQ(ParsePhase(PhaseName(phase)), phase);
  }
  EXPECT_EQ(ParsePhase("backwards"), std::nullopt);
}

}  // namespace
}  // namespace cleave::ir
