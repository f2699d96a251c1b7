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
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    Graph graph = RandomTrainingGraph(random, {.ops = 8});
    const Plan plan = RandomPlan(graph, RandomMesh(4, random), random);
    const Distributed silent = *Distribute(graph, plan);
    const Program expected = *Partition(silent.graph, silent.plan);
    graph.looks = LooksAtEverything(graph);
    const Distributed looked_at = *Distribute(graph, plan);
    const Program program = *Partition(looked_at.graph, looked_at.plan);
    EXPECT_EQ(WithoutGlances(program), expected);
    EXPECT_EQ(program.steps.size(), expected.steps.size() + graph.looks.size());
    EXPECT_EQ(CheckStatically(program), std::vector<std::string>());
    EXPECT_EQ(*ParseProgram(ProgramText(program, 3)), program);
  }
}

// The layout in which `name` is looked at in data parallel training on two ranks, and the phase.
std::string SeenText(Graph graph, const std::string& name) {
  graph.looks = {{.kind = LookKind::kPrint, .value = *graph.Find(name), .name = name}};
  const Mesh mesh = Mesh::OfDevices(2);
  const Program program = *Partition(graph, DataParallelPlan(graph, mesh));
  for (const Step& step : program.steps) {
    const Glance* glance = std::get_if<Glance>(&step.action);
    if (glance == nullptr) continue;
    return absl::StrCat(LayoutText(program.value(glance->input).layout, mesh), " ", PhaseName(step.phase));
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

}  // namespace
}  // namespace cleave::ir
