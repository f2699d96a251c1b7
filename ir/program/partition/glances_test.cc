// Looks change no other step of a program.
#include "ir/program/partition/glances.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/builder.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"
#include "ir/program/text.h"
#include "ir/proof/check/check.h"
#include "ir/sharding/layout/layout.h"
#include "ir/sharding/micro_batches/micro_batches.h"
#include "ir/testing/graphs.h"
#include "ir/testing/plans.h"
#include "ir/testing/random_graph.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/sources.h"
#include "ir/transforms/distribute/distribute.h"

namespace cleave::ir {
namespace {

// Every op, in each of the ways.
std::vector<Look> LooksAtEverything(const Graph& graph) {
  std::vector<Look> looks;
  for (const Op& op : graph.ops) {
    const LookKind kind = op.id.value() % 2 == 0 ? LookKind::kPrint : LookKind::kPrintLocal;
    looks.push_back({.kind = kind, .value = op.id, .name = op.name, .line = op.line});
  }
  return looks;
}

Program WithoutGlances(Program program) {
  std::vector<Step> kept;
  for (Step& step : program.steps) {
    if (!std::holds_alternative<Glance>(step.action)) kept.push_back(std::move(step));
  }
  program.steps = std::move(kept);
  return program;
}

TEST(GlancesTest, AnyProgramIsTheSameBesides) {
  int in_micro_batches = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    Graph graph = RandomTrainingGraph(random, {.ops = 8});
    Plan plan = RandomPlan(graph, RandomMesh(4, random), random);
    plan.micro_batches = static_cast<int64_t>(1 + seed % 3);
    const Distributed silent = *Distribute(graph, plan);
    if (FindRefusal(silent.graph, silent.plan).has_value()) continue;
    in_micro_batches += plan.micro_batches > 1 ? 1 : 0;
    const Program expected = *Partition(silent.graph, silent.plan);
    graph.looks = LooksAtEverything(graph);
    const Distributed looked_at = *Distribute(graph, plan);
    const Program program = *Partition(looked_at.graph, looked_at.plan);
    EXPECT_EQ(WithoutGlances(program), expected);
    EXPECT_EQ(program.steps.size(), expected.steps.size() + graph.looks.size());
    EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
    EXPECT_EQ(*ParseProgram(ProgramText(program, 3)), program);
  }
  EXPECT_GT(in_micro_batches, 0);
}

// The layout in which `name` is looked at in data parallel training on two ranks, and the phase.
std::string SeenText(Graph graph, const std::string& name, int64_t micro_batches = 1) {
  graph.looks = {{.kind = LookKind::kPrint, .value = *graph.Find(name), .name = name}};
  Plan plan = DataParallelPlan(graph, Mesh::OfDevices(2));
  plan.micro_batches = micro_batches;
  const Program program = *Partition(graph, plan);
  for (const Step& step : program.steps) {
    const Glance* glance = std::get_if<Glance>(&step.action);
    if (glance == nullptr) continue;
    const std::string layout = LayoutText(program.value(glance->input).layout, program.mesh);
    const std::string repeat = micro_batches > 1 ? absl::StrCat(" ", RepeatName(step.repeat)) : "";
    return absl::StrCat(layout, " ", PhaseName(step.phase), repeat);
  }
  return "not at all";
}

TEST(GlancesTest, ValuesAreTakenAsTheyLie) {
  GraphBuilder b;
  const OpId x = AddInput(b, "x", {4, 6});
  const OpId w = AddParameter(b, "w", {6, 6});
  const OpId y = b.Add(OpKind::kMatmul, {x, w}, {}, "y");
  b.Add(OpKind::kReduceSum, {y}, {}, "total");
  b.mutable_graph().loss = b.Add(OpKind::kReduceMean, {y}, {}, "loss");
  const Graph graph = TrainingGraph(std::move(b).Build(), {});
  EXPECT_EQ(SeenText(graph, "x"), "[m0, -] forward");
  EXPECT_EQ(SeenText(graph, "y"), "[m0, -] forward");
  EXPECT_EQ(SeenText(graph, "w"), "[-, -] forward");
  // The loss is added up because it is reported. Nothing asks for `total`, so it is left in its parts.
  EXPECT_EQ(SeenText(graph, "loss"), "[] forward");
  EXPECT_EQ(SeenText(graph, "total"), "[] partial(m0: sum) forward");
  // The sum of a gradient is made for the update.
  EXPECT_EQ(SeenText(graph, "w.grad"), "[-, -] update");
}

TEST(GlancesTest, SumsOverMicroBatchesAreTakenWhenTheyAreComplete) {
  GraphBuilder b;
  const OpId x = AddInput(b, "x", {8, 6});
  const OpId w = AddParameter(b, "w", {6, 6});
  const OpId y = b.Add(OpKind::kMatmul, {x, w}, {}, "y");
  b.Add(OpKind::kReduceSum, {y}, {}, "total");
  b.mutable_graph().loss = b.Add(OpKind::kReduceMean, {y}, {}, "loss");
  const Graph graph = TrainingGraph(std::move(b).Build(), {});
  EXPECT_EQ(SeenText(graph, "y", 2), "[micro_batch m0, -] forward for each micro-batch");
  EXPECT_EQ(SeenText(graph, "w", 2), "[-, -] forward once before the micro-batches");
  EXPECT_EQ(SeenText(graph, "loss", 2), "[] forward once after the micro-batches");
  EXPECT_EQ(SeenText(graph, "total", 2), "[] partial(m0: sum, micro_batch: sum) forward for each micro-batch");
  EXPECT_EQ(SeenText(graph, "w.grad", 2), "[-, -] update once after the micro-batches");
}

}  // namespace
}  // namespace cleave::ir
