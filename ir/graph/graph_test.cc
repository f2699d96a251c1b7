#include "ir/graph/graph.h"

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(GraphTest, FindAndUsers) {
  Graph graph;
  graph.ops.push_back(Op{.id = OpId(0), .name = "x", .kind = "input"});
  graph.ops.push_back(Op{.id = OpId(1), .name = "x.mul", .kind = "mul", .inputs = {OpId(0), OpId(0)}});
  graph.ops.push_back(Op{.id = OpId(2), .name = "y", .kind = "relu", .inputs = {OpId(0)}});
  EXPECT_EQ(graph.Find("x.mul"), OpId(1));
  EXPECT_EQ(graph.Find("z"), std::nullopt);
  EXPECT_EQ(Users(graph)[OpId(0)], (std::vector<OpId>{OpId(1), OpId(1), OpId(2)}));
  EXPECT_TRUE(Users(graph)[OpId(2)].empty());
}

TEST(GraphTest, PhaseNamesReadBack) {
  for (Phase phase : {Phase::kForward, Phase::kMetric, Phase::kBackward, Phase::kUpdate}) {
    EXPECT_EQ(ParsePhase(PhaseName(phase)), phase);
  }
  EXPECT_EQ(ParsePhase("backwards"), std::nullopt);
}

TEST(GraphTest, AttributesByType) {
  const Attributes attributes{{{"axis", int64_t{2}},
                               {"keep_dims", true},
                               {"epsilon", 0.5},
                               {"data", std::string("image")},
                               {"shape", std::vector<int64_t>{2, 3}}}};
  EXPECT_EQ(attributes.GetInt("axis"), 2);
  EXPECT_TRUE(attributes.GetBool("keep_dims"));
  EXPECT_EQ(attributes.GetDouble("epsilon"), 0.5);
  EXPECT_EQ(attributes.GetString("data"), "image");
  EXPECT_EQ(attributes.GetInts("shape"), (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(attributes.Has("axes"));
  EXPECT_DEATH(attributes.GetInt("epsilon"), "attribute epsilon has another type");
}

}  // namespace
}  // namespace cleave
