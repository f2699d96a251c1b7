#include "ir/program/partition/kept_copies.h"

#include <functional>
#include <optional>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "ir/program/text.h"
#include "ir/proof/check/check.h"
#include "ir/testing/checked_programs.h"
#include "ir/testing/graphs.h"
#include "ir/testing/meshes.h"
#include "ir/testing/plans.h"
#include "ir/transforms/distribute/distribute.h"
#include "ir/transforms/precision/precision.h"

namespace cleave::ir {
namespace {

Graph MlpInBf16() { return ApplyPrecision(TestMlp({.kind = TestOptimizer::Kind::kAdam}), Precision::kBf16).graph; }

// What is kept, each followed by a space.
std::string KeptNames(const Program& program) {
  std::string names;
  for (const Step& step : program.steps) {
    const auto* compute = std::get_if<Compute>(&step.action);
    if (compute != nullptr && compute->is_kept) names += step.name + " ";
  }
  return names;
}

Step& StepNamed(Program& program, const std::string& name) {
  for (Step& step : program.steps) {
    if (step.name == name) return step;
  }
  ADD_FAILURE() << "no step " << name;
  return program.steps.front();
}

// Weights and their updates are whole on all ranks, or both are in pieces. Where only updates are, their results are
// gathered, and a step makes the copies.
TEST(KeptCopiesTest, TheUpdateWritesThem) {
  const Graph graph = MlpInBf16();
  for (const auto& [weights_in_pieces, updates_in_pieces, kept] :
       {std::tuple(false, false, "w1.bf16 b1.bf16 w2.bf16 "), std::tuple(true, true, "w1.bf16 b1.bf16 w2.bf16 "),
        std::tuple(false, true, "b1.bf16 ")}) {
    Plan plan = DataParallelPlan(graph, MeshOf({3}));
    for (const Op& op : graph.ops) {
      const bool is_weight = op.name == "w1" || op.name == "w2" || op.name == "w1.bf16" || op.name == "w2.bf16";
      const bool is_update = op.phase == Phase::kUpdate && op.type.rank() == 2;
      if ((is_weight && weights_in_pieces) || (is_update && updates_in_pieces))
        plan.ops[op.id].strategy.cuts = {{AxisId(0)}, {}};
    }
    const std::optional<Program> program = ProvenProgram(graph, *Distribute(graph, plan));
    ASSERT_TRUE(program.has_value());
    EXPECT_EQ(KeptNames(*program), kept);
  }
}

TEST(KeptCopiesTest, WhatThePlanMakesAgainIsNotKept) {
  const Graph graph = MlpInBf16();
  Plan plan = DataParallelPlan(graph, MeshOf({2}));
  plan.ops[*graph.Find("w2.bf16")].retention = Retention::kRecompute;
  EXPECT_EQ(KeptNames(CheckedProgram(graph, plan)), "w1.bf16 b1.bf16 ");
}

TEST(KeptCopiesTest, TheProofSeesACopyThatIsNotThatOfTheWeight) {
  const Graph graph = MlpInBf16();
  const Plan plan = DataParallelPlan(graph, MeshOf({1}));
  const Program program = CheckedProgram(graph, plan);
  const auto breaks = [&](const std::string& what, const std::function<void(Program&)>& change) {
    Program broken = program;
    change(broken);
    const bool is_proven = CheckStatically(broken).empty() && CheckBySimulation(graph, broken).ok();
    EXPECT_FALSE(is_proven) << what;
  };
  const auto next = [](Program& broken) -> Compute& {
    return std::get<Compute>(StepNamed(broken, "w2.bf16.new").action);
  };
  breaks("it is not made again", [](Program& broken) { broken.updates.pop_back(); });
  breaks("it is made of the old weight",
         [&](Program& broken) { next(broken).inputs = std::get<Compute>(StepNamed(broken, "w2.bf16").action).inputs; });
  breaks("it is made of another number of its shape",
         [&](Program& broken) { next(broken).inputs = {Writes(StepNamed(broken, "w2.adam_m.new")).front()}; });
  breaks("it is made of a value of the step",
         [&](Program& broken) { std::get<Compute>(StepNamed(broken, "h1.relu").action).is_kept = true; });
  breaks("it is not said to be kept",
         [&](Program& broken) { std::get<Compute>(StepNamed(broken, "w2.bf16").action).is_kept = false; });
}

TEST(KeptCopiesTest, TextsHaveThem) {
  const Graph graph = MlpInBf16();
  const Program program = CheckedProgram(graph, DataParallelPlan(graph, MeshOf({2})));
  EXPECT_EQ(KeptNames(*ParseProgram(ProgramText(program, 0))), "w1.bf16 b1.bf16 w2.bf16 ");
}

}  // namespace
}  // namespace cleave::ir
