// Tensors that lie in parts of others: that programs find in memory what they read, and compute what the interpreter
// does, which has a tensor for each value.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/program/memory/memory_plan.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/seed.h"
#include "tests/properties/case.h"
#include "tests/properties/failure.h"
#include "tests/properties/overwritten.h"
#include "tests/properties/run_batch.h"
#include "tests/properties/sliced_graph.h"
#include "tests/support/command.h"

namespace cleave::tests::properties {
namespace {

// Returns how many steps of the programs do nothing because of parts.
int64_t CheckMemory(uint64_t first, int64_t cases, const CaseOptions& options) {
  int64_t saved = 0;
  for (int64_t i = 0; i < cases; ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    const PlannedGraph sample = RandomCase(seed, options);
    const absl::StatusOr<Compiled> compiled = Compile(sample);
    if (!compiled.ok()) {
      ADD_FAILURE() << "seed " << seed << ": " << compiled.status();
      continue;
    }
    const ir::Program& program = compiled->program;
    const ir::MemoryPlan memory =
        ir::PlanMemory(compiled->distributed.graph, program, {.loop_batches = ir::LoopBatches::kAll});
    saved += std::count_if(program.steps.begin(), program.steps.end(),
                           [&](const ir::Step& step) { return !ir::IsAlias(step) && memory.fusion.DoesNothing(step); });
    for (int rank = 0; rank < ir::RankMesh(program).rank_count(); ++rank) {
      const std::optional<std::string> failure = FindOverwritten(program, memory, rank);
      if (failure.has_value()) {
        ADD_FAILURE() << "seed " << seed << "\n" << *failure << "\n" << CaseText(sample);
        break;
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  return saved;
}

TEST(Slices, StepsFindWhatTheyRead) {
  constexpr int64_t kCases = 400;
  const int64_t saved = CheckMemory(ir::TestSeed(), kCases, {.most_ranks = 6, .forward = SlicedGraph});
  std::cout << saved << " slices and concatenations are not made\n";
  EXPECT_GT(saved, kCases);
}

TEST(Slices, SoDoThoseOfAllGraphs) { CheckMemory(ir::TestSeed(), 200, {.most_ranks = 6}); }

TEST(Slices, PlansOfThemAreProven) {
  for (uint64_t seed = ir::TestSeed(); seed < ir::TestSeed() + 100; ++seed) {
    const PlannedGraph sample = RandomCase(seed, {.most_ranks = 6, .forward = SlicedGraph});
    const std::optional<std::string> failure = FindFailure(sample, {});
    ASSERT_FALSE(failure.has_value()) << FailureReport(seed, sample, *failure, {});
  }
}

void RunPrograms(const std::string& name, const std::vector<int64_t>& meshes, ir::Precision precision) {
  constexpr uint64_t kCasesOfABatch = 6;
  const std::string folder = FreshFolder(name);
  BatchReport all;
  for (const int64_t ranks : meshes) {
    ir::Random random(ir::TestSeed() + static_cast<uint64_t>(ranks));
    std::vector<uint64_t> seeds;
    for (uint64_t i = 0; i < kCasesOfABatch; ++i) {
      seeds.push_back(ir::TestSeed() + static_cast<uint64_t>(ranks) * kCasesOfABatch + i);
    }
    const BatchReport report = RunBatch(folder, ir::RandomMesh(ranks, random), seeds,
                                        {.precision = precision, .offloads = false, .forward = SlicedGraph});
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    std::cout << ranks << " ranks: " << report.Summary() << "\n";
    all.Add(report);
  }
  EXPECT_TRUE(all.ComparesEnough()) << all.Summary();
}

TEST(Slices, ProgramsComputeWhatTheInterpreterComputes) { RunPrograms("slices", {1, 4}, ir::Precision::kF32); }
TEST(Slices, InBf16TheyDoUpToRounding) { RunPrograms("slices_in_bf16", {2}, ir::Precision::kBf16); }

}  // namespace
}  // namespace cleave::tests::properties
