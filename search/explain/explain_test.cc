#include "ir/testing/graphs.h"
#include "ir/testing/random_plan.h"
#include "search/explain/explain.h"

#include <random>
#include <string>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ir/partition/partition.h"

namespace cleave {
namespace {

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    std::mt19937_64 random(5);
    plan_ = RandomPlan(graph_, Mesh::OfDevices(8), random);
    plan_.search = {.algorithm = "sapp", .price = "bytes", .cost = 2000};
    OpPlan& product = plan_.ops[*graph_.Find("logits")];
    product.decided_by = DecidedBy::kSearch;
    product.reason = "a reason that is much longer than what is left of a line of one hundred columns in the table";
    Choice other{.strategy = Strategy::Replicated(RuleOf(graph_, graph_.op(*graph_.Find("logits")))), .cost = 1500};
    product.choices = {{.strategy = product.strategy, .cost = 1000, .chosen = true}, other};
    distributed_ = *Distribute(graph_, plan_);
    program_ = *Partition(distributed_.graph, distributed_.plan);
  }

  static void ExpectNarrow(const std::string& text) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(line.size(), 100u) << line;
  }

  Graph graph_ = TestMlp();
  Plan plan_;
  Distributed distributed_;
  Program program_;
};

TEST_F(ExplainTest, PlanShowsDecisionsAndEveryCollective) {
  const std::string text = ExplainPlan(graph_, plan_, program_);
  ExpectNarrow(text);
  EXPECT_NE(text.find("logits"), std::string::npos) << text;
  EXPECT_NE(text.find("100.0%"), std::string::npos) << text;
  int collectives = 0;
  for (const Step& step : program_.steps) {
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || step.phase == Phase::kMetric) continue;
    ++collectives;
    EXPECT_NE(text.find(std::string(CollectiveKindName(collective->kind))), std::string::npos) << text;
  }
  EXPECT_GT(collectives, 0);
}

TEST_F(ExplainTest, OpShowsEveryChoiceAgainstTheChosenOne) {
  const absl::StatusOr<std::string> text = ExplainOp(graph_, plan_, distributed_, program_, "logits");
  ASSERT_TRUE(text.ok()) << text.status();
  ExpectNarrow(*text);
  EXPECT_NE(text->find("whole                                             1500.0        1.50"), std::string::npos)
      << *text;
}

TEST_F(ExplainTest, EveryOpCanBeExplained) {
  for (const Op& op : graph_.ops) {
    const absl::StatusOr<std::string> text = ExplainOp(graph_, plan_, distributed_, program_, op.name);
    ASSERT_TRUE(text.ok()) << op.name;
    EXPECT_NE(text->find(op.name), std::string::npos);
  }
}

TEST_F(ExplainTest, UnknownOpGetsTheNearestName) {
  const absl::StatusOr<std::string> text = ExplainOp(graph_, plan_, distributed_, program_, "logitz");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().message(), "no op `logitz`, did you mean `logits`?");
}

}  // namespace
}  // namespace cleave
