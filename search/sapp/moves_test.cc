#include "search/sapp/moves.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "search/oracle/oracle.h"
#include "search/sapp/choices.h"
#include "search/sapp/starts.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave {
namespace {

// A graph with a plan to move from, in which products use all mesh axes.
struct MovingPlan {
  MovingPlan(Graph model, const Mesh& mesh)
      : graph(std::move(model)),
        facts(FactsOf(graph)),
        assignment(facts, mesh, {.dataset = {}}, {}),
        network(assignment.table(), {}, assignment.options(), {}),
        moves(assignment.table(), network) {
    StartUniform(assignment, 1);
    moves.RequireAllAxes();
  }

  std::vector<Strategy> Domain(OpId op, int number) {
    std::vector<Strategy> strategies;
    for (int index : network.domain(number)) strategies.push_back(assignment.table().strategy(op, index));
    return strategies;
  }

  Graph graph;
  GraphFacts facts;
  Assignment assignment;
  Network network;
  Moves moves;
};

// Calls `check(plan, op)` for every op that a search sets, in several graphs on several meshes.
void ForEachOp(const std::function<void(MovingPlan& plan, OpId op)>& check) {
  std::vector<Graph> graphs = {testing::SeedNetwork(), testing::Gpt({})};
  for (uint64_t seed = 1; seed <= 5; ++seed) graphs.push_back(testing::RandomSmallGraph(seed));
  for (const Graph& graph : graphs) {
    for (const int64_t devices : {4, 6, 8}) {
      MovingPlan plan(graph, Mesh::OfDevices(devices));
      for (OpId op : plan.facts.set_ops) {
        SCOPED_TRACE(plan.facts.op(op).name + " on " + std::to_string(devices) + " devices");
        check(plan, op);
      }
    }
  }
}

// What every set of strategies keeps to: the present one is first, each is there once and is valid, and products use
// all axes.
void CheckDomain(MovingPlan& plan, OpId op, const std::vector<Strategy>& strategies) {
  ASSERT_FALSE(strategies.empty());
  EXPECT_EQ(strategies[0], plan.assignment.strategy(op));
  const Rule& rule = plan.facts.rule(op);
  for (size_t i = 0; i < strategies.size(); ++i) {
    EXPECT_TRUE(VerifyStrategy(strategies[i], rule, plan.assignment.mesh()).ok());
    EXPECT_TRUE(plan.moves.UsesAllAxes(op, strategies[i]));
    EXPECT_EQ(std::count(strategies.begin(), strategies.end(), strategies[i]), 1);
  }
}

Strategy WithoutAll(Strategy strategy, const std::vector<AxisId>& axes) {
  for (AxisId axis : axes) strategy = Without(strategy, axis);
  return strategy;
}

TEST(MovesTest, OtherAxesStayWhereTheyAre) {
  ForEachOp([](MovingPlan& plan, OpId op) {
    const int present = plan.assignment.index(op);
    const Strategy now = plan.assignment.strategy(op);
    const std::vector<AxisId> all = plan.assignment.mesh().AxisIds();
    const std::vector<AxisId> two = {all[0], all[1]};
    const auto check = [&](int domain, const std::vector<AxisId>& moved) {
      const std::vector<Strategy> strategies = plan.Domain(op, domain);
      CheckDomain(plan, op, strategies);
      for (const Strategy& other : strategies) EXPECT_EQ(WithoutAll(other, moved), WithoutAll(now, moved));
    };
    check(plan.moves.Stay(op, present), {});
    for (AxisId axis : all) check(plan.moves.Axis(op, present, axis), {axis});
    for (AxisId axis : all) check(plan.moves.Place(op, present, axis), {axis});
    check(plan.moves.Together(op, present, two), two);
    check(plan.moves.Each(op, present, two), two);
    check(plan.moves.Swap(op, present, two[0], two[1]), two);
  });
}

TEST(MovesTest, AxesThatMoveTogetherEndOnOneFactor) {
  ForEachOp([](MovingPlan& plan, OpId op) {
    const std::vector<AxisId> all = plan.assignment.mesh().AxisIds();
    const std::vector<Strategy> strategies =
        plan.Domain(op, plan.moves.Together(op, plan.assignment.index(op), {all[0], all[1]}));
    for (size_t i = 1; i < strategies.size(); ++i) {
      EXPECT_EQ(FactorCutBy(strategies[i], all[0]), FactorCutBy(strategies[i], all[1]));
    }
  });
}

TEST(MovesTest, OtherPlacesAreOnTheSameFactor) {
  ForEachOp([](MovingPlan& plan, OpId op) {
    const Strategy now = plan.assignment.strategy(op);
    for (AxisId axis : plan.assignment.mesh().AxisIds()) {
      const std::vector<Strategy> strategies = plan.Domain(op, plan.moves.Place(op, plan.assignment.index(op), axis));
      const int factor = FactorCutBy(now, axis);
      for (const Strategy& other : strategies) EXPECT_EQ(FactorCutBy(other, axis), factor);
      if (factor < 0) {
        EXPECT_EQ(strategies.size(), 1u);
      } else {
        EXPECT_LE(strategies.size(), now.cuts[static_cast<size_t>(factor)].size());
      }
    }
  });
}

// A product of [64, 32] and [32, 32]: each axis on the rows, the columns or the contracted dimension; a light op may
// also leave it idle.
TEST(MovesTest, KnownNumbersOfStrategies) {
  MovingPlan plan(testing::Mlp(64, {32, 32, 32}), Mesh::OfDevices(4));
  const OpId product = *plan.graph.Find("h0");
  const OpId relu = *plan.graph.Find("h0.relu");
  const std::vector<AxisId> axes = plan.assignment.mesh().AxisIds();
  const auto count = [&](OpId op, int domain) { return plan.Domain(op, domain).size(); };
  EXPECT_EQ(count(product, plan.moves.Axis(product, plan.assignment.index(product), axes[0])), 3u);
  EXPECT_EQ(count(relu, plan.moves.Axis(relu, plan.assignment.index(relu), axes[0])), 3u);  // Two dimensions, or idle.
  EXPECT_EQ(count(product, plan.moves.Each(product, plan.assignment.index(product), axes)), 9u);
  // Two axes on different factors in 6 ways, on one of 3 factors in 2 orders.
  EXPECT_EQ(count(product, plan.moves.All(product, plan.assignment.index(product))), 12u);
}

// The oracle enumerates strategies in its own way.
TEST(MovesTest, AllStrategiesAreThoseOfTheOracle) {
  ForEachOp([](MovingPlan& plan, OpId op) {
    if (plan.assignment.mesh().axis_count() > 2) return;
    const bool is_product = plan.facts.roles[op] == Role::kProduct;
    std::set<int> expected;
    for (const Strategy& strategy : AllStrategies(plan.facts.rule(op), plan.assignment.mesh(), is_product)) {
      expected.insert(plan.assignment.Intern(op, strategy));
    }
    const std::vector<int>& found = plan.network.domain(plan.moves.All(op, plan.assignment.index(op)));
    EXPECT_EQ(std::set<int>(found.begin(), found.end()), expected);
  });
}

}  // namespace
}  // namespace cleave
