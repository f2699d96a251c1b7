// Runs random training graphs with random plans as real programs under mpirun, and compares them with the interpreter.

#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/testing/random_plan.h"
#include "ir/testing/seed.h"
#include "tests/properties/run_batch.h"
#include "tests/support/command.h"

namespace cleave::tests::properties {
namespace {

constexpr uint64_t kCasesOfABatch = 6;

TEST(RunTest, ProgramsComputeWhatTheInterpreterComputes) {
  const uint64_t seed = ir::TestSeed();
  const std::string folder = FreshFolder("programs");
  BatchReport all;
  for (const int64_t ranks : {1, 3, 4, 6}) {
    ir::Random random(seed + static_cast<uint64_t>(ranks));
    std::vector<uint64_t> seeds(kCasesOfABatch);
    std::iota(seeds.begin(), seeds.end(), seed + static_cast<uint64_t>(ranks) * kCasesOfABatch);
    const BatchReport report = RunBatch(folder, ir::RandomMesh(ranks, random), seeds, {.most_ops = 10});
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    std::cout << ranks << " ranks: " << report.Summary() << "\n";
    all.Add(report);
  }
  EXPECT_TRUE(all.ComparesEnough()) << all.Summary();
}

TEST(RunTest, InBf16TheyDoUpToRounding) {
  const std::string folder = FreshFolder("programs_in_bf16");
  BatchReport all;
  for (int64_t ranks : {1, 4}) {
    ir::Random random(ir::TestSeed() + static_cast<uint64_t>(ranks));
    std::vector<uint64_t> seeds(kCasesOfABatch);
    std::iota(seeds.begin(), seeds.end(), ir::TestSeed() + static_cast<uint64_t>(ranks) * kCasesOfABatch);
    const BatchReport report =
        RunBatch(folder, ir::RandomMesh(ranks, random), seeds, {.most_ops = 10, .precision = ir::Precision::kBf16});
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    std::cout << ranks << " ranks: " << report.Summary() << "\n";
    all.Add(report);
  }
  EXPECT_TRUE(all.ComparesEnough()) << all.Summary();
}

}  // namespace
}  // namespace cleave::tests::properties
