// Names are for people: a graph whose ops are called anything has its plan, its program and its place in memory.
#include <optional>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/program/lower/lower.h"
#include "ir/testing/graphs.h"
#include "ir/testing/seed.h"
#include "search/model/cluster/cluster.h"
#include "search/search.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

// The same graph with a name of its own for each op, in no order, some of them with numbers between dots.
ir::Graph Renamed(ir::Graph graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::set<std::string> taken;
  for (ir::Op& op : graph.ops) {
    std::string name;
    do {
      name = absl::StrCat("n", random() % 100000, random() % 2 == 0 ? absl::StrCat(".", random() % 9, ".x") : "");
    } while (!taken.insert(name).second);
    op.name = name;
  }
  for (ir::Look& look : graph.looks) look.name = "look";
  return graph;
}

ir::Program WithoutNames(ir::Program program) {
  for (ir::Value& value : program.values) {
    value.name.clear();
  }
  for (ir::Step& step : program.steps) {
    step.name.clear();
    if (auto* collective = std::get_if<ir::Collective>(&step.action)) collective->why.clear();
  }
  return program;
}

void ExpectTheSame(const ir::Graph& graph, const SearchOptions& options) {
  const uint64_t seed = ir::TestSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const ir::Graph renamed = Renamed(graph, seed);
  Diagnostics diagnostics;
  const std::optional<ir::Plan> plan = Search(graph, CpuCluster(8), {}, options, diagnostics);
  const std::optional<ir::Plan> other = Search(renamed, CpuCluster(8), {}, options, diagnostics);
  ASSERT_TRUE(plan.has_value() && other.has_value());
  for (const ir::Op& op : graph.ops) {
    EXPECT_EQ(plan->ops[op.id].strategy, other->ops[op.id].strategy) << op.name;
    EXPECT_EQ(plan->ops[op.id].output, other->ops[op.id].output) << op.name;
    EXPECT_EQ(plan->ops[op.id].retention, other->ops[op.id].retention) << op.name;
    EXPECT_EQ(plan->ops[op.id].stage, other->ops[op.id].stage) << op.name;
  }
  const auto made = ir::Lower(graph, *plan), made_again = ir::Lower(renamed, *other);
  ASSERT_TRUE(made.ok() && made_again.ok());
  EXPECT_TRUE(WithoutNames(made->program) == WithoutNames(made_again->program));
  const ir::BufferPlan &buffers = made->memory.storage.buffers, &others = made_again->memory.storage.buffers;
  ASSERT_EQ(buffers.buffers.size(), others.buffers.size());
  for (size_t i = 0; i < buffers.buffers.size(); ++i) {
    EXPECT_EQ(buffers.buffers[i].value, others.buffers[i].value);
    EXPECT_EQ(buffers.buffers[i].offset, others.buffers[i].offset);
  }
}

TEST(NamesTest, AreForPeople) {
  const ir::Graph gpt = testing::Gpt({.layers = 12}), experts = testing::MixtureOfExperts({.layers = 6});
  for (const ir::Graph& graph : {gpt, experts, ir::TestRecurrent(12)}) {
    ExpectTheSame(graph, {.dataset = {}});
    ExpectTheSame(graph, {.dataset = {}, .zero = 3});
    ExpectTheSame(graph, {.dataset = {}, .micro_batches = 2});
  }
}

}  // namespace
}  // namespace cleave::search
