#include "search/solve/sapp/moves.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "search/oracle/oracle.h"
#include "search/solve/sapp/choices.h"
#include "search/solve/sapp/starts.h"
#include "search/testing/models.h"
#include "search/testing/small_graphs.h"

namespace cleave::search {
namespace {

// A graph with a plan to move from, in which products use all mesh axes.
struct MovingPlan {
  MovingPlan(ir::Graph model, const ir::Mesh& mesh)
      : graph(std::move(model)),
        facts(FactsOf(graph)),
        assignment(facts, mesh, {.dataset = {}}, {}),
        network(assignment.table(), {}, assignment.options(), {}),
        moves(assignment.table(), network, Freedom::Whole(assignment.table())) {
    StartUniform(assignment, 1);
    moves.RequireAxes();
  }

  std::vector<ir::Strategy> Domain(ir::OpId op, int number) {
    std::vector<ir::Strategy> strategies;
    for (int index : network.domain(number)) strategies.push_back(assignment.table().strategy(op, index));
    return strategies;
  }

  ir::Graph graph;
  GraphFacts facts;
  Assignment assignment;
  Network network;
  Moves moves;
};

// Calls `check(plan, op)` for every op that a search sets, in several graphs on several meshes.
void ForEachOp(const std::function<void(MovingPlan& plan, ir::OpId op)>& check) {
  std::vector<ir::Graph> graphs = {testing::SeedNetwork(), testing::Gpt({})};
  for (uint64_t seed = 1; seed <= 5; ++seed) graphs.push_back(testing::RandomSmallGraph(seed));
  for (const ir::Graph& graph : graphs) {
    for (const int64_t devices : {4, 6, 8}) {
      MovingPlan plan(graph, ir::Mesh::OfDevices(devices));
      for (ir::OpId op : plan.facts.set_ops) {
        SCOPED_TRACE(plan.facts.op(op).name + " on " + std::to_string(devices) + " devices");
        check(plan, op);
      }
    }
  }
}

// Checks what holds for every set of strategies: the present one is first, each occurs once and is valid, and products
// use all axes.
void CheckDomain(MovingPlan& plan, ir::OpId op, const std::vector<ir::Strategy>& strategies) {
  ASSERT_FALSE(strategies.empty());
  EXPECT_EQ(strategies[0], plan.assignment.strategy(op));
  const ir::Rule& rule = plan.facts.rule(op);
  for (size_t i = 0; i < strategies.size(); ++i) {
    EXPECT_TRUE(ir::VerifyStrategy(strategies[i], rule, plan.assignment.mesh()).ok());
    EXPECT_TRUE(plan.moves.UsesRequired(op, strategies[i]));
    EXPECT_EQ(std::count(strategies.begin(), strategies.end(), strategies[i]), 1);
  }
}

ir::Strategy WithoutAll(ir::Strategy strategy, const ir::AxisList& axes) {
  for (ir::AxisId axis : axes) strategy = Without(strategy, axis);
  return strategy;
}

TEST(MovesTest, ClosedAxesStayAndRequiredOnesKeepToTheirFactors) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  Assignment assignment(facts, ir::Mesh::OfDevices(8), {.dataset = {}}, {});
  StartUniform(assignment, 1);
  const ir::AxisList axes = assignment.mesh().AxisIds();
  const ir::OpId op = *graph.Find("h1");
  const ir::Rule& rule = facts.rule(op);
  Freedom freedom = Freedom::Whole(assignment.table());
  freedom.Set(op, {.open = {axes[1], axes[2]}, .required = {axes[1]}, .factors = {{0}}});
  Network network(assignment.table(), {}, assignment.options(), {});
  Moves moves(assignment.table(), network, freedom);
  moves.RequireAxes();
  const ir::Strategy now = assignment.strategy(op);
  const std::vector<int>& domain = network.domain(moves.All(op, assignment.index(op)));
  EXPECT_GT(domain.size(), 4u);
  for (size_t i = 1; i < domain.size(); ++i) {
    const ir::Strategy& strategy = assignment.table().strategy(op, domain[i]);
    EXPECT_EQ(FactorCutBy(strategy, axes[0]), FactorCutBy(now, axes[0])) << CutsText(strategy, rule, assignment.mesh());
    EXPECT_EQ(FactorCutBy(strategy, axes[1]), 0) << CutsText(strategy, rule, assignment.mesh());
  }
}

TEST(MovesTest, OtherAxesStayWhereTheyAre) {
  ForEachOp([](MovingPlan& plan, ir::OpId op) {
    const int present = plan.assignment.index(op);
    const ir::Strategy now = plan.assignment.strategy(op);
    const ir::AxisList all = plan.assignment.mesh().AxisIds();
    const ir::AxisList two = {all[0], all[1]};
    const auto check = [&](int domain, const ir::AxisList& moved) {
      const std::vector<ir::Strategy> strategies = plan.Domain(op, domain);
      CheckDomain(plan, op, strategies);
      for (const ir::Strategy& other : strategies) EXPECT_EQ(WithoutAll(other, moved), WithoutAll(now, moved));
    };
    check(plan.moves.Stay(op, present), {});
    for (ir::AxisId axis : all) check(plan.moves.Axis(op, present, axis), {axis});
    for (ir::AxisId axis : all) check(plan.moves.Place(op, present, axis), {axis});
    check(plan.moves.Together(op, present, two), two);
    check(plan.moves.Each(op, present, two), two);
    check(plan.moves.Swap(op, present, two[0], two[1]), two);
  });
}

TEST(MovesTest, AxesThatMoveTogetherEndOnOneFactor) {
  ForEachOp([](MovingPlan& plan, ir::OpId op) {
    const ir::AxisList all = plan.assignment.mesh().AxisIds();
    const std::vector<ir::Strategy> strategies =
        plan.Domain(op, plan.moves.Together(op, plan.assignment.index(op), {all[0], all[1]}));
    for (size_t i = 1; i < strategies.size(); ++i) {
      EXPECT_EQ(FactorCutBy(strategies[i], all[0]), FactorCutBy(strategies[i], all[1]));
    }
  });
}

TEST(MovesTest, OtherPlacesAreOnTheSameFactor) {
  ForEachOp([](MovingPlan& plan, ir::OpId op) {
    const ir::Strategy now = plan.assignment.strategy(op);
    for (ir::AxisId axis : plan.assignment.mesh().AxisIds()) {
      const std::vector<ir::Strategy> strategies =
          plan.Domain(op, plan.moves.Place(op, plan.assignment.index(op), axis));
      const int factor = FactorCutBy(now, axis);
      for (const ir::Strategy& other : strategies) EXPECT_EQ(FactorCutBy(other, axis), factor);
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
  MovingPlan plan(testing::Mlp(64, {32, 32, 32}), ir::Mesh::OfDevices(4));
  const ir::OpId product = *plan.graph.Find("h0");
  const ir::OpId relu = *plan.graph.Find("h0.relu");
  const ir::AxisList axes = plan.assignment.mesh().AxisIds();
  const auto count = [&](ir::OpId op, int domain) { return plan.Domain(op, domain).size(); };
  EXPECT_EQ(count(product, plan.moves.Axis(product, plan.assignment.index(product), axes[0])), 3u);
  EXPECT_EQ(count(relu, plan.moves.Axis(relu, plan.assignment.index(relu), axes[0])), 3u);  // Two dimensions, or idle.
  EXPECT_EQ(count(product, plan.moves.Each(product, plan.assignment.index(product), axes)), 9u);
  // Two axes on different factors in 6 ways, on one of 3 factors in 2 orders.
  EXPECT_EQ(count(product, plan.moves.All(product, plan.assignment.index(product))), 12u);
}

// The oracle enumerates strategies in its own way.
TEST(MovesTest, AllStrategiesAreThoseOfTheOracle) {
  ForEachOp([](MovingPlan& plan, ir::OpId op) {
    if (plan.assignment.mesh().axis_count() > 2) return;
    const bool is_product = plan.facts.roles[op] == Role::kProduct;
    std::set<int> expected;
    for (const ir::Strategy& strategy : AllStrategies(plan.facts.rule(op), plan.assignment.mesh(), is_product)) {
      expected.insert(plan.assignment.Intern(op, strategy));
    }
    const std::vector<int>& found = plan.network.domain(plan.moves.All(op, plan.assignment.index(op)));
    EXPECT_EQ(std::set<int>(found.begin(), found.end()), expected);
  });
}

}  // namespace
}  // namespace cleave::search
