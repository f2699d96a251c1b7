#include "search/solve/sapp/alternatives.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "search/model/facts/facts.h"
#include "search/price/cost/cost.h"
#include "search/solve/sapp/classic_greedy.h"
#include "search/solve/sapp/sapp.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Plan PlanOf(const Assignment& assignment) {
  ir::Plan plan;
  plan.mesh = assignment.mesh();
  plan.gradient_weight = assignment.options().gradient_weight;
  for (const ir::Op& op : assignment.facts().graph->ops) {
    ir::OpPlan planned;
    planned.strategy = assignment.strategy(op.id);
    plan.ops.push_back(planned);
  }
  return plan;
}

struct Fixture {
  Fixture(ir::Graph model, int64_t devices, double gradient_weight = 0.1)
      : graph(std::move(model)),
        facts(FactsOf(graph)),
        bundles(FindBundles(facts)),
        assignment(facts, ir::Mesh::OfDevices(devices), {.gradient_weight = gradient_weight, .dataset = {}}, {}) {
    Sapp(assignment);
  }

  ir::Graph graph;
  GraphFacts facts;
  Bundles bundles;
  Assignment assignment;
};

TEST(AlternativesTest, TheCostOfAnAlternativeIsWhatThePlanWouldCostMore) {
  Fixture fixture(testing::Gpt({}), 8);
  Alternatives alternatives(fixture.assignment, fixture.bundles);
  int looked_at = 0;
  for (ir::OpId product : ProductsOf(fixture.facts)) {
    const double own = fixture.assignment.CostAround(product).price;
    const double whole = PlanCost(fixture.facts, PlanOf(fixture.assignment)).price;
    const int mark = fixture.assignment.mark();
    for (const Alternative& other : alternatives.OthersFor(product)) {
      fixture.assignment.Apply(other.changes);
      const ir::Plan plan = PlanOf(fixture.assignment);
      fixture.assignment.Rollback(mark);
      EXPECT_EQ(plan.ops[product].strategy, other.choice.strategy);
      EXPECT_NEAR(other.choice.cost - own, PlanCost(fixture.facts, plan).price - whole, 1e-6 * whole);
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 20);
}

TEST(AlternativesTest, PartsSumToTheCost) {
  Fixture fixture(testing::Gpt({}), 8);
  Alternatives alternatives(fixture.assignment, fixture.bundles);
  for (ir::OpId product : ProductsOf(fixture.facts)) {
    for (const ir::Choice& choice : alternatives.ChoicesOf(product)) {
      ASSERT_TRUE(choice.parts.has_value());
      EXPECT_NEAR(choice.parts->sum(), choice.cost, 1e-6 * std::max(1.0, choice.cost));
      if (choice.chosen) {
        EXPECT_EQ(choice.parts->elsewhere, 0);
      }
    }
  }
}

// With twice the gradient weight, the part that has this weight doubles and nothing else changes.
TEST(AlternativesTest, GradientsAreThePartThatGrowsWithTheirWeight) {
  Fixture light(testing::SeedNetwork(), 8, 0.1);
  const ir::OpId product = *light.graph.Find("h1");
  const auto same = [&](double weight) {
    Assignment other(light.facts, ir::Mesh::OfDevices(8), {.gradient_weight = weight, .dataset = {}}, {});
    for (ir::OpId op : ProductsOf(light.facts)) other.Apply(std::vector<Change>{{op, light.assignment.strategy(op)}});
    return Alternatives(other, light.bundles).ChoicesOf(product)[0];
  };
  const ir::Choice once = same(0.1), twice = same(0.2);
  EXPECT_GT(once.parts->gradients, 0);
  EXPECT_NEAR(twice.parts->gradients, 2 * once.parts->gradients, 1e-6 * once.cost);
  EXPECT_NEAR(twice.cost - once.cost, once.parts->gradients, 1e-6 * once.cost);
}

TEST(AlternativesTest, TheChosenComesFirstAndTheOthersByCost) {
  Fixture fixture(testing::SeedNetwork(), 8);
  Alternatives alternatives(fixture.assignment, fixture.bundles);
  const std::vector<ir::Choice> choices = alternatives.ChoicesOf(*fixture.graph.Find("h1"));
  ASSERT_GE(choices.size(), 3u);
  ASSERT_LE(choices.size(), 1 + SearchTuning{}.alternatives);
  EXPECT_TRUE(choices[0].chosen);
  for (size_t i = 1; i < choices.size(); ++i) EXPECT_FALSE(choices[i].chosen);
  EXPECT_TRUE(std::is_sorted(choices.begin() + 1, choices.end(),
                             [](const ir::Choice& a, const ir::Choice& b) { return a.cost < b.cost * (1 - 1e-9); }));
}

// The result that equal layers share is the result that each would have found alone.
TEST(AlternativesTest, LayersThatShareTheirResultAgreeWithTheirOwn) {
  testing::GptShape shape;
  shape.layers = 5;
  Fixture fixture(testing::Gpt(shape), 8);
  Alternatives shared(fixture.assignment, fixture.bundles);
  for (ir::OpId product : ProductsOf(fixture.facts)) {
    const std::vector<ir::Choice> known = shared.ChoicesOf(product);
    Alternatives fresh(fixture.assignment, fixture.bundles);
    const std::vector<ir::Choice> own = fresh.ChoicesOf(product);
    ASSERT_EQ(known.size(), own.size()) << fixture.facts.op(product).name;
    for (size_t i = 0; i < own.size(); ++i) {
      EXPECT_EQ(known[i].strategy, own[i].strategy) << fixture.facts.op(product).name;
      EXPECT_NEAR(known[i].cost, own[i].cost, 1e-6 * std::max(1.0, own[i].cost)) << fixture.facts.op(product).name;
    }
  }
}

TEST(AlternativesTest, TheAssignmentIsLeftAsItWas) {
  Fixture fixture(testing::Gpt({}), 4);
  const ir::Plan before = PlanOf(fixture.assignment);
  Alternatives alternatives(fixture.assignment, fixture.bundles);
  for (ir::OpId product : ProductsOf(fixture.facts)) alternatives.ChoicesOf(product);
  EXPECT_EQ(PlanOf(fixture.assignment).ops, before.ops);
}

}  // namespace
}  // namespace cleave::search
