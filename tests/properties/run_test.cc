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
  int64_t compared = 0;
  int64_t left_out = 0;
  for (const int64_t ranks : {1, 3, 4, 6}) {
    ir::Random random(seed + static_cast<uint64_t>(ranks));
    std::vector<uint64_t> seeds(kCasesOfABatch);
    std::iota(seeds.begin(), seeds.end(), seed + static_cast<uint64_t>(ranks) * kCasesOfABatch);
    const BatchReport report = RunBatch(folder, ir::RandomMesh(ranks, random), seeds, {.most_ops = 10});
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    std::cout << ranks << " ranks: " << report.compared << " numbers compared, " << report.left_out
              << " depend on rounding\n";
    compared += report.compared;
    left_out += report.left_out;
  }
  // All values of a graph may depend on rounding, and one of the graphs may be larger than the others.
  EXPECT_GT(compared, 2 * left_out);
}

TEST(RunTest, InBf16TheyDoUpToRounding) {
  const std::string folder = FreshFolder("programs_in_bf16");
  for (int64_t ranks : {1, 4}) {
    ir::Random random(ir::TestSeed() + static_cast<uint64_t>(ranks));
    std::vector<uint64_t> seeds(kCasesOfABatch);
    std::iota(seeds.begin(), seeds.end(), ir::TestSeed() + static_cast<uint64_t>(ranks) * kCasesOfABatch);
    const BatchReport report =
        RunBatch(folder, ir::RandomMesh(ranks, random), seeds, {.most_ops = 10, .precision = ir::Precision::kBf16});
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    std::cout << ranks << " ranks: " << report.compared << " numbers compared, " << report.left_out
              << " depend on rounding\n";
    EXPECT_GT(report.compared, report.left_out);
  }
}

}  // namespace
}  // namespace cleave::tests::properties
