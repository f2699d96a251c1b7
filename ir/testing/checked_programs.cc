#include "ir/testing/checked_programs.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/program/partition/partition.h"
#include "ir/proof/check/check.h"

namespace cleave::ir {

std::string StepNames(const Program& program, Phase phase) {
  std::string names;
  for (const Step& step : program.steps) {
    if (step.phase == phase) absl::StrAppend(&names, step.name, " ");
  }
  return names;
}

Program CheckedProgram(const Graph& graph, const Plan& plan) {
  EXPECT_EQ(VerifyPlan(graph, plan), std::vector<std::string>());
  absl::StatusOr<Program> program = Partition(graph, plan);
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(CheckStatically(*program), std::vector<std::string>());
  return *std::move(program);
}

std::optional<Program> ProvenProgram(const Graph& graph, const Distributed& split) {
  absl::StatusOr<Program> program = Partition(split.graph, split.plan);
  if (!program.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(program.status())) << program.status();
    return std::nullopt;
  }
  EXPECT_EQ(CheckStatically(*program), std::vector<std::string>());
  const absl::StatusOr<SimulationReport> report = CheckBySimulation(graph, split, *program);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(program);
}

}  // namespace cleave::ir
