#include "search/model/manual/manual.h"

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"

namespace cleave::search {
namespace {

ir::Graph ModelOf(int64_t ranks) {
  ir::GraphBuilder builder;
  if (ranks > 0) builder.mutable_graph().rank_axes = {{"world", ranks}};
  const ir::OpId x = builder.Add(ir::OpKind::kParameter, {}, {{ir::attribute::kShape, ir::Shape{4}}}, "x");
  builder.mutable_graph().loss = builder.Add(ir::OpKind::kReduceMean, {x}, {}, "loss");
  return std::move(builder).Build();
}

const Span kSomewhere{.file = FileId(0), .begin = 3, .end = 7};

// The code that the settings get; nullopt where they are right.
std::optional<Code> CodeOf(int64_t ranks, const std::function<void(ir::Pins& pins)>& set) {
  ir::Pins pins;
  set(pins);
  Diagnostics diagnostics;
  const bool is_right = CheckManualSettings(ModelOf(ranks), pins.settings.search, pins, diagnostics);
  EXPECT_EQ(is_right, diagnostics.items().empty());
  if (is_right) return std::nullopt;
  EXPECT_EQ(diagnostics.items().size(), 1u);
  return diagnostics.items()[0].code;
}

TEST(ManualSettingsTest, AManualSearchNeedsAManualModel) {
  const auto manual = [](ir::Pins& pins) {
    pins.settings.search = ir::SearchAlgorithm::kManual;
    pins.settings.search_given = true;
  };
  EXPECT_EQ(CodeOf(0, manual), Code::kE0711);
  EXPECT_EQ(CodeOf(4, manual), std::nullopt);
  EXPECT_EQ(CodeOf(0, [](ir::Pins&) {}), std::nullopt);
  EXPECT_EQ(CodeOf(4, [](ir::Pins&) {}), std::nullopt);
}

TEST(ManualSettingsTest, WhatWouldBeIgnoredIsRefused) {
  const auto settings = [](const std::function<void(ir::ParallelSettings & settings)>& set) {
    return CodeOf(4, [&](ir::Pins& pins) { set(pins.settings); });
  };
  // The default search is refused too, if it is given.
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.search_given = true; }), Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.zero_span = kSomewhere; }), Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.objective_span = kSomewhere; }), Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.cost_span = kSomewhere; }), Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.outside_span = kSomewhere; }), Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.dataset_given = true; }), Code::kE0708);
  EXPECT_EQ(CodeOf(4,
                   [](ir::Pins& pins) {
                     pins.pins.push_back({.op = ir::OpId(0), .demand = ir::ReplicatePin{}, .span = kSomewhere});
                   }),
            Code::kE0708);
  EXPECT_EQ(CodeOf(4, [](ir::Pins& pins) { pins.priorities.push_back({.op = ir::OpId(0), .value = 1}); }),
            Code::kE0708);
  EXPECT_EQ(
      CodeOf(4,
             [](ir::Pins& pins) { pins.regions.push_back({.name = "y", .ops = {ir::OpId(1)}, .span = kSomewhere}); }),
      Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.recompute_span = kSomewhere; }), Code::kE0708);
  EXPECT_EQ(settings([](ir::ParallelSettings& s) { s.sums_span = kSomewhere; }), Code::kE0708);
  // One attribute, two ops.
  EXPECT_EQ(CodeOf(4,
                   [](ir::Pins& pins) {
                     pins.retentions = {
                         {.op = ir::OpId(1), .retention = ir::Retention::kRecompute, .span = kSomewhere},
                         {.op = ir::OpId(2), .retention = ir::Retention::kRecompute, .span = kSomewhere}};
                   }),
            Code::kE0708);
  // Devices, mesh and memory are no settings of the search.
  EXPECT_EQ(settings([](ir::ParallelSettings& s) {
              s.devices = {.value = 4, .span = kSomewhere};
              s.mesh = {{.name = "world", .size = 4, .span = kSomewhere}};
              s.mesh_span = kSomewhere;
              s.memory = {.value = 1 << 20, .span = kSomewhere};
            }),
            std::nullopt);
}

TEST(ManualPlanTest, EveryOpIsWholeOnEveryRank) {
  const ir::Graph graph = ModelOf(4);
  const ir::Plan plan = ManualPlan(graph, ir::Mesh::OfDevices(4), "cpu");
  EXPECT_EQ(plan.search.algorithm, "manual");
  EXPECT_EQ(ir::VerifyPlan(graph, plan), std::vector<std::string>{});
  for (const ir::OpPlan& planned : plan.ops) {
    EXPECT_EQ(planned.decided_by, ir::DecidedBy::kManual);
    EXPECT_EQ(planned.reason, "the model contains its own communication");
  }
}

TEST(ManualPlanTest, APlanOfAnotherKindIsNotOne) {
  const ir::Graph graph = ModelOf(4);
  ir::Plan cut = ManualPlan(graph, ir::Mesh::OfDevices(4), "cpu");
  cut.ops[ir::OpId(0)].strategy.cuts[0] = {ir::AxisId(0)};
  ASSERT_EQ(ir::VerifyPlan(graph, cut).size(), 1u);
  EXPECT_EQ(ir::VerifyPlan(graph, cut)[0], "`x` is cut, and the model says itself what each rank computes");
  ir::Plan small = ManualPlan(graph, ir::Mesh::OfDevices(4), "cpu");
  small.mesh = ir::Mesh::OfDevices(2);
  ASSERT_EQ(ir::VerifyPlan(graph, small).size(), 1u);
  EXPECT_EQ(ir::VerifyPlan(graph, small)[0], "the plan is for 2 ranks, the model has 4");
}

TEST(ManualPlanTest, TheMeshMayCutTheModelsAxesFiner) {
  ir::Graph graph = ModelOf(4);
  graph.rank_axes = {{"dp", 3}, {"tp", 4}};
  const auto errors_on = [&](const std::vector<int64_t>& sizes) {
    std::vector<ir::MeshAxis> axes;
    for (int64_t size : sizes) {
      axes.push_back(
          {.name = std::string(1, static_cast<char>('a' + axes.size())), .size = size, .link = "l", .weight = 1});
    }
    const ir::Mesh mesh = *ir::Mesh::Create(axes);
    return ir::VerifyPlan(graph, ManualPlan(graph, mesh, "cpu"));
  };
  EXPECT_EQ(errors_on({3, 4}), std::vector<std::string>{});
  EXPECT_EQ(errors_on({3, 2, 2}), std::vector<std::string>{});
  EXPECT_EQ(errors_on({2, 3, 2}), std::vector<std::string>{"the mesh a=2, b=3, c=2 does not have the axis dp"});
  EXPECT_EQ(errors_on({4, 3}).size(), 1u);
}

}  // namespace
}  // namespace cleave::search
