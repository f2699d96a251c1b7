// Compiles random models, proves them, and runs some of them as programs.

#include <cstdint>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "ir/testing/seed.h"
#include "tests/properties/model_check.h"
#include "tests/support/command.h"

namespace cleave::tests::properties {
namespace {

TEST(ModelsTest, EveryValidModelIsProven) {
  constexpr int64_t kModels = 120;
  const ModelReport report = CheckModels(ir::TestSeed(), kModels, FreshFolder("models"));
  std::cout << report.Text() << "\n";
  EXPECT_EQ(report.failures, 0);
  EXPECT_GT(report.proven, kModels * 3 / 4);
  EXPECT_GT(report.recompute, kModels / 10);
}

TEST(ModelsTest, ProgramsComputeWhatTheInterpreterComputes) {
  const ModelRuns runs = RunModels(ir::TestSeed(), /*count=*/8, FreshFolder("model_programs"));
  for (const std::string& failure : runs.report.failures) ADD_FAILURE() << failure;
  std::cout << runs.programs << " programs, " << runs.report.Summary() << "\n";
  // Where gradients are clipped, one that depends on rounding leaves out all that its model updates.
  EXPECT_TRUE(runs.report.ComparesEnough()) << runs.report.Summary();
}

}  // namespace
}  // namespace cleave::tests::properties
