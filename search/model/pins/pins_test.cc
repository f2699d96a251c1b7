#include "search/model/pins/pins.h"

#include "gtest/gtest.h"
#include "search/testing/models.h"

namespace cleave::search {
namespace {

ir::Placed<int64_t> At(int64_t value, int32_t place) {
  return {.value = value, .span = {.file = FileId(0), .begin = place, .end = place + 1}};
}

struct Resolved {
  std::optional<OpDemands> demands;
  Diagnostics diagnostics;
};

Resolved Resolve(const ir::Graph& graph, const ir::Mesh& mesh, const ir::Pin& pin) {
  Resolved result;
  const GraphFacts facts = FactsOf(graph);
  result.demands = ResolvePins(facts, mesh, {.pins = {pin}}, result.diagnostics);
  return result;
}

TEST(ResolvePinsTest, CountsThatNoAxesGive) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::ShardPin shard{.in = {{{At(3, 9), At(1, 12)}}, {{At(1, 17), At(1, 20)}}}, .out = {}};
  const Resolved result =
      Resolve(graph, ir::Mesh::OfDevices(8), {.op = *graph.Find("h0"), .demand = shard, .span = {}});
  EXPECT_FALSE(result.demands.has_value());
  ASSERT_EQ(result.diagnostics.error_count(), 1);
  const Diagnostic& error = result.diagnostics.items()[0];
  EXPECT_EQ(error.code, Code::kE0304);
  EXPECT_EQ(error.message, "8 devices cannot be divided into 3 slices");
  EXPECT_EQ(error.labels[0].span.begin, 9);
  EXPECT_EQ(error.labels[0].text, "dimension 0 of `x` is to be cut into 3");
  EXPECT_EQ(error.help[0], "the mesh is 2 x 2 x 2: 1, 2, 4 or 8 slices are possible");
}

TEST(ResolvePinsTest, AProductLargerThanTheDevices) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::ShardPin shard{.in = {{{At(8, 1), At(1, 2)}}, {{At(2, 3), At(1, 4)}}}, .out = {}};
  const Resolved result =
      Resolve(graph, ir::Mesh::OfDevices(8), {.op = *graph.Find("h0"), .demand = shard, .span = {}});
  ASSERT_EQ(result.diagnostics.error_count(), 1);
  EXPECT_EQ(result.diagnostics.items()[0].code, Code::kE0312);
  EXPECT_EQ(result.diagnostics.items()[0].labels.size(), 1u);
}

TEST(ResolvePinsTest, TwoCountsForOneFactor) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::ShardPin shard{.in = {{{At(1, 1), At(2, 2)}}, {{At(1, 3), At(4, 4)}}}, .out = {}};
  const Resolved result =
      Resolve(graph, ir::Mesh::OfDevices(8), {.op = *graph.Find("h0"), .demand = shard, .span = {}});
  ASSERT_EQ(result.diagnostics.error_count(), 1);
  EXPECT_EQ(result.diagnostics.items()[0].code, Code::kE0311);
  EXPECT_EQ(result.diagnostics.items()[0].labels[0].span.begin, 4);
  EXPECT_EQ(result.diagnostics.items()[0].labels[1].span.begin, 2);
}

TEST(ResolvePinsTest, SlicesOfAParameterAreItsStorage) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::ShardPin shard{.in = {}, .out = {{At(4, 1), At(2, 2)}}};
  const ir::OpId weight = *graph.Find("w0");
  const ir::Mesh mesh = ir::Mesh::OfDevices(8);
  const Resolved result = Resolve(graph, mesh, {.op = weight, .demand = shard, .span = {}});
  ASSERT_TRUE(result.demands.has_value());
  EXPECT_EQ(ir::LayoutText(ir::OutputLayout(*result.demands->at(weight).strategy, FactsOf(graph).rule(weight)), mesh),
            "[m0 m1, m2]");
  EXPECT_FALSE(result.demands->at(weight).output.has_value());
}

TEST(ResolvePinsTest, SlicesThatAParameterCannotHave) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::ShardPin shard{.in = {}, .out = {{At(8, 1), At(2, 2)}}};
  const Resolved result =
      Resolve(graph, ir::Mesh::OfDevices(8), {.op = *graph.Find("w0"), .demand = shard, .span = {}});
  ASSERT_EQ(result.diagnostics.error_count(), 1);
  EXPECT_EQ(result.diagnostics.items()[0].code, Code::kE0312);
  EXPECT_EQ(result.diagnostics.items()[0].message, "the slices of `w0` together are 16, and there are 8 devices");
}

TEST(ResolvePinsTest, SeveralAxesOnOneDimension) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::Mesh mesh =
      *ir::Mesh::Create({{.name = "dp.0", .size = 2}, {.name = "dp.1", .size = 2}, {.name = "tp", .size = 2}});
  const ir::LayoutPin layout{.dimensions = {{{.value = "tp", .span = {}}, {.value = "dp", .span = {}}}, {}}};
  const ir::OpId weight = *graph.Find("w0");
  const Resolved result = Resolve(graph, mesh, {.op = weight, .demand = layout, .span = {}});
  ASSERT_TRUE(result.demands.has_value());
  EXPECT_EQ(ir::LayoutText(ir::OutputLayout(*result.demands->at(weight).strategy, FactsOf(graph).rule(weight)), mesh),
            "[tp dp.0 dp.1, -]");
}

TEST(ResolvePinsTest, SubAxesHaveNoNames) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::Mesh mesh = *ir::Mesh::Create({{.name = "dp.0", .size = 2}, {.name = "dp.1", .size = 2}});
  const ir::LayoutPin layout{.dimensions = {{{.value = "dp.0", .span = {}}}, {}}};
  const Resolved result = Resolve(graph, mesh, {.op = *graph.Find("w0"), .demand = layout, .span = {}});
  ASSERT_EQ(result.diagnostics.error_count(), 1);
  EXPECT_EQ(result.diagnostics.items()[0].message, "the mesh has no axis `dp.0`");
}

TEST(ResolvePinsTest, TwoPinsOnOneValueAreResolvedAlikeOrContradictEachOther) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::Mesh mesh = ir::Mesh::OfDevices(2);
  const ir::OpId weight = *graph.Find("w0");
  const ir::Pin layout{
      .op = weight, .demand = ir::LayoutPin{.dimensions = {{{.value = "m0", .span = {}}}, {}}}, .span = {}};
  const auto shard = [&](int64_t rows, int64_t columns) {
    return ir::Pin{.op = weight, .demand = ir::ShardPin{.in = {}, .out = {{At(rows, 1), At(columns, 2)}}}, .span = {}};
  };
  const GraphFacts facts = FactsOf(graph);
  Diagnostics agree;
  EXPECT_TRUE(ResolvePins(facts, mesh, {.pins = {layout, shard(2, 1)}}, agree).has_value());
  Diagnostics contradict;
  EXPECT_FALSE(ResolvePins(facts, mesh, {.pins = {layout, shard(1, 2)}}, contradict).has_value());
  EXPECT_EQ(contradict.items()[0].code, Code::kE0307);
}

TEST(ResolvePinsTest, AnAxisOfOneDeviceCutsNothing) {
  const ir::Graph graph = testing::SeedNetwork();
  const GraphFacts facts = FactsOf(graph);
  const ir::OpId weight = *graph.Find("w0");
  const ir::LayoutPin layout{.dimensions = {{{.value = "x", .span = {}}}, {}}};
  ir::Pins pins{.pins = {{.op = weight, .demand = layout, .span = {}}}};
  Diagnostics diagnostics;
  EXPECT_FALSE(ResolvePins(facts, ir::Mesh(), pins, diagnostics).has_value());
  pins.settings.mesh = {{.name = "x", .size = 1, .span = {}}};
  const std::optional<OpDemands> demands = ResolvePins(facts, ir::Mesh(), pins, diagnostics);
  ASSERT_TRUE(demands.has_value());
  EXPECT_EQ(ir::OutputLayout(*demands->at(weight).strategy, facts.rule(weight)), ir::Layout::Replicated(2));
}

TEST(ResolvePinsTest, UnknownAxisHasTheNearestName) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::Mesh mesh =
      *ir::Mesh::Create({{.name = "data.0", .size = 2}, {.name = "data.1", .size = 2}, {.name = "tensor", .size = 2}});
  const ir::LayoutPin layout{.dimensions = {{{.value = "tensr", .span = {}}}, {}}};
  const Resolved result = Resolve(graph, mesh, {.op = *graph.Find("w0"), .demand = layout, .span = {}});
  ASSERT_EQ(result.diagnostics.error_count(), 1);
  EXPECT_EQ(result.diagnostics.items()[0].message, "the mesh has no axis `tensr`");
  EXPECT_EQ(result.diagnostics.items()[0].help[0], "did you mean `tensor`?");
}

TEST(ResolvePinsTest, ALayoutOnAParameterIsItsStorage) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::Mesh mesh = *ir::Mesh::Create({{.name = "data.0", .size = 2}, {.name = "data.1", .size = 2}});
  const ir::LayoutPin layout{.dimensions = {{{.value = "data", .span = {}}}, {}}};
  const ir::OpId weight = *graph.Find("w0");
  const Resolved result = Resolve(graph, mesh, {.op = weight, .demand = layout, .span = {}});
  ASSERT_TRUE(result.demands.has_value());
  const GraphFacts facts = FactsOf(graph);
  EXPECT_EQ(ir::LayoutText(ir::OutputLayout(*result.demands->at(weight).strategy, facts.rule(weight)), mesh),
            "[data.0 data.1, -]");
}

TEST(ResolvePinsTest, OutIsAReduceScatterOfThePartialAxes) {
  const ir::Graph graph = testing::SeedNetwork();
  const ir::ShardPin shard{.in = {{{At(4, 1), At(2, 2)}}, {{At(1, 3), At(2, 4)}}}, .out = {{At(8, 5), At(1, 6)}}};
  const ir::OpId op = *graph.Find("h0");
  const ir::Mesh mesh = ir::Mesh::OfDevices(8);
  const Resolved result = Resolve(graph, mesh, {.op = op, .demand = shard, .span = {}});
  ASSERT_TRUE(result.demands.has_value());
  EXPECT_EQ(ir::LayoutText(*result.demands->at(op).output, mesh), "[m0 m1 m2, -]");
}

TEST(LayoutFromCountsTest, TakesOtherAxesWhereTheFirstDoNotFit) {
  const ir::Mesh mesh = ir::Mesh::OfDevices(12);  // 3, 2, 2
  const ir::Layout from = ir::Layout::Replicated(2);
  EXPECT_EQ(ir::LayoutText(*LayoutFromCounts({4, 3}, from, mesh), mesh), "[m1 m2, m0]");
  EXPECT_FALSE(LayoutFromCounts({4, 2}, from, mesh).has_value());
}

TEST(PossibleCountsTest, AreTheProductsOfAxes) {
  EXPECT_EQ(PossibleCounts(ir::Mesh::OfDevices(12)), (std::vector<int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(PossibleCounts(ir::Mesh::OfDevices(1)), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace cleave::search
