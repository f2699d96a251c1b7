#include "search/model/shorten/shorten.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/text.h"
#include "ir/sharding/plan/plan.h"
#include "ir/sharding/strategy/strategy.h"
#include "ir/testing/graphs.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// The graph without what tells its layers apart: names, lines, keys of random draws.
ir::Graph WithoutNumbers(ir::Graph graph) {
  for (ir::Op& op : graph.ops) {
    if (op.repetition.is_repeated()) op.name = absl::StrCat("repeated ", op.repetition.place);
    op.line = 0;
    if (op.attributes.Has(ir::attribute::kKey)) op.attributes.Erase(ir::attribute::kKey);
  }
  return graph;
}

// A model of more layers without some of them is the model of fewer layers.
TEST(ShortenTest, IsTheGraphOfFewerLayers) {
  const auto gpt = [](int layers) { return testing::Gpt({.layers = layers}); };
  const auto experts = [](int layers) { return testing::MixtureOfExperts({.layers = layers}); };
  const auto expect = [](const ir::Graph& graph, const ir::Graph& few) {
    const EqualLayers equal = FindEqualLayers(graph);
    ASSERT_EQ(equal.count(), 7u);
    for (const size_t begin : {1, 2, 3}) {
      const Shortened shortened = WithoutLayers(graph, equal, begin, begin + 3);
      ir::Graph expected = WithoutNumbers(few);
      expected.hash = graph.hash;
      EXPECT_EQ(ir::GraphText(WithoutNumbers(shortened.graph)), ir::GraphText(expected)) << begin;
      for (const ir::Op& op : shortened.graph.ops) {
        EXPECT_EQ(op.name, graph.op(shortened.originals[op.id]).name);
      }
    }
    EXPECT_EQ(WithoutLayers(graph, equal, 2, 2).graph, graph);
  };
  expect(gpt(9), gpt(6));
  expect(experts(9), experts(6));
}

// What makes one layer different from others ends the run.
TEST(ShortenTest, UnequalLayersStandApart) {
  const ir::Graph graph = testing::Gpt({.layers = 12});
  ASSERT_EQ(FindEqualLayers(graph).count(), 10u);
  const auto first_of = [](const ir::Graph& other) {
    return other.op(FindEqualLayers(other).ops[0][0]).repetition.passes[0].number;
  };
  EXPECT_EQ(first_of(graph), 1);
  for (ir::Op op : graph.ops) {
    const ir::LoopPasses& passes = op.repetition.passes;
    if (op.kind != ir::OpKind::kLayerNorm || passes.empty() || passes[0].number != 4) continue;
    ir::Graph other = graph;
    other.ops[op.id].attributes.Set(ir::attribute::kEpsilon, 0.5);
    EXPECT_EQ(FindEqualLayers(other).count(), 6u) << op.name;
    EXPECT_EQ(first_of(other), 5);
    // Read by something that is no neighbour.
    other = graph;
    other.metrics.push_back({.name = "norm", .value = op.id});
    EXPECT_EQ(FindEqualLayers(other).count(), 6u) << op.name;
  }
}

// What a plan of few layers says of one of them, about itself and about the layers beside it.
TEST(ShortenTest, LengthenedPlansSayTheSameOfEveryLayer) {
  const ir::Graph graph = testing::Gpt({.layers = 30});
  const SearchedGraph few = SearchedGraph::WithFewLayers(graph, 7);
  ASSERT_FALSE(few.is_whole());
  const IdVector<ir::OpId, int64_t> times = few.Times();
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), int64_t{0}), static_cast<int64_t>(graph.ops.size()));
  EXPECT_EQ(*std::max_element(times.begin(), times.end()), 28 - 7 + 1);

  const auto plan_of = [](const ir::Graph& own) {
    ir::Plan plan;
    for (const ir::Op& op : own.ops) {
      const std::string reason =
          op.inputs.empty() ? op.name : absl::StrCat("follows ", own.op(op.inputs[0]).name, " into ", op.name, "; 3.5");
      plan.ops.push_back({.strategy = ir::Strategy::Replicated(ir::RuleOf(own, op)), .reason = reason});
    }
    return plan;
  };
  const ir::Plan plan = plan_of(few.graph());
  EXPECT_EQ(few.Lengthened(plan), plan_of(graph));
  EXPECT_EQ(few.Searched(few.Lengthened(plan)).ops.size(), plan.ops.size());
  EXPECT_EQ(few.Layers().count(), 7u);
  EXPECT_EQ(few.WholeLayers().count(), 28u);

  EXPECT_TRUE(SearchedGraph::WithFewLayers(testing::Gpt({.layers = 9}), 7).is_whole());
}

// Steps of a loop over time: they read other slices, have several names, and what all of them make is put together.
TEST(ShortenTest, StepsOfALoopOverTime) {
  const ir::Graph graph = ir::TestRecurrent(30);
  const EqualLayers equal = FindEqualLayers(graph);
  EXPECT_EQ(equal.count(), 26u);
  std::set<std::string> names;
  for (const ir::OpId op : equal.ops[0]) names.insert(graph.op(op).name);
  for (const char* name : {"h.2.slice", "h.2.product", "s.2.tanh", "s.2.tanh.reshape", "s.2.tanh.grad"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  const SearchedGraph few = SearchedGraph::WithFewLayers(graph, 9);
  EXPECT_EQ(few.Layers().count(), 9u);
  EXPECT_EQ(ir::VerifyGraph(few.graph()), std::vector<std::string>());
  const OpTimes times = few.Times();
  EXPECT_EQ(std::accumulate(times.begin(), times.end(), int64_t{0}), static_cast<int64_t>(graph.ops.size()));
  // The concatenation has all its inputs: those of steps that are left out are that of the step in their place.
  const ir::Op& all = few.graph().op(*few.graph().Find("all"));
  EXPECT_EQ(all.type, graph.op(*graph.Find("all")).type);
  EXPECT_EQ(std::set<ir::OpId>(all.inputs.begin(), all.inputs.end()).size(), 13u);
}

// Two loops that read each other only through what the first has put together are left out together.
TEST(ShortenTest, LoopsApart) {
  ir::Graph twice = ir::TestRecurrent(20);
  const size_t ops = FindEqualLayers(twice).ops[0].size();
  const ir::Graph other = twice;
  const int64_t first = static_cast<int64_t>(twice.ops.size());
  for (ir::Op op : other.ops) {
    op.name = "b" + op.name;
    op.repetition.place = ir::Within(op.repetition.place, 1);
    for (ir::LoopPass& pass : op.repetition.passes) pass.loop = ir::Within(pass.loop, 1);
    op.id = ir::OpId(op.id.value() + first);
    for (ir::OpId& input : op.inputs) input = ir::OpId(input.value() + first);
    if (op.inherits.has_value()) op.inherits->op = ir::OpId(op.inherits->op.value() + first);
    if (op.gradient_of.has_value()) op.gradient_of = ir::OpId(op.gradient_of->value() + first);
    twice.ops.push_back(std::move(op));
  }
  const EqualLayers equal = FindEqualLayers(twice);
  EXPECT_EQ(equal.count(), 16u);
  EXPECT_EQ(equal.ops[0].size(), 2 * ops);
}

TEST(ShortenTest, WhereNoLayersAreEqual) {
  EXPECT_EQ(FindEqualLayers(testing::Mlp(8, {4, 4, 4, 4})).count(), 0u);
  EXPECT_EQ(FindEqualLayers(testing::Gpt({.layers = 2})).count(), 0u);
}

}  // namespace
}  // namespace cleave::search
