// Random training graphs with random plans on random meshes: the program of partition computes on every rank what one
// device computes. CLEAVE_TEST_SEED sets another seed.

#include <cstdint>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "ir/testing/seed.h"
#include "tests/properties/case.h"
#include "tests/properties/failure.h"

namespace cleave::tests::properties {
namespace {

constexpr uint64_t kBlocks = 20;
constexpr uint64_t kCases = 100;  // In a block.
constexpr uint64_t kProofEvery =
    4;  // The compiler's own proof, which shrinks and simulates, must accept valid programs.

class PropertyTest : public testing::TestWithParam<uint64_t> {};

TEST_P(PropertyTest, RanksComputeWhatOneDeviceComputes) {
  const uint64_t first = ir::TestSeed() + GetParam() * kCases;
  for (uint64_t seed = first; seed < first + kCases; ++seed) {
    const CheckOptions options{.with_proof = seed % kProofEvery == 0};
    const PlannedGraph sample = RandomCase(seed);
    const std::optional<std::string> failure = FindFailure(sample, options);
    ASSERT_FALSE(failure.has_value()) << FailureReport(seed, sample, *failure, options);
  }
}

// On meshes of so many ranks that the proof runs on shorter ones.
TEST_P(PropertyTest, TheProofAcceptsLargeMeshes) {
  constexpr uint64_t kFewer = 12;
  const uint64_t first = ir::TestSeed() + GetParam() * kCases;
  for (uint64_t seed = first; seed < first + kCases; seed += kFewer) {
    const PlannedGraph sample = RandomCase(seed, {.most_ranks = 48});
    const std::optional<std::string> failure = FindFailure(sample, {.with_proof = true});
    ASSERT_FALSE(failure.has_value()) << FailureReport(seed, sample, *failure, {.with_proof = true});
  }
}

// Graphs that multiply in bf16 or f16. The interpreter does not round, so the test only checks that the right
// values are used.
TEST_P(PropertyTest, AlsoIn16Bits) {
  constexpr uint64_t kFewer = 4;
  const uint64_t first = ir::TestSeed() + GetParam() * kCases;
  for (uint64_t seed = first; seed < first + kCases; seed += kFewer) {
    const CheckOptions options{.with_proof = seed % (kProofEvery * kFewer) == 0};
    const ir::Precision precision = seed / kFewer % 2 == 0 ? ir::Precision::kBf16 : ir::Precision::kF16;
    const PlannedGraph sample = RandomCase(seed, {.precision = precision});
    const std::optional<std::string> failure = FindFailure(sample, options);
    ASSERT_FALSE(failure.has_value()) << FailureReport(seed, sample, *failure, options);
  }
}

// Pipelines: forward ops cut into stages anywhere.
TEST_P(PropertyTest, AlsoInStages) {
  constexpr uint64_t kFewer = 4;
  const uint64_t first = ir::TestSeed() + GetParam() * kCases;
  for (uint64_t seed = first; seed < first + kCases; seed += kFewer) {
    const CheckOptions options{.with_proof = seed % (kProofEvery * kFewer) == 0};
    const ir::Precision precision = seed / kFewer % 3 == 0 ? ir::Precision::kBf16 : ir::Precision::kF32;
    const PlannedGraph sample =
        RandomCase(seed, {.most_ranks = 4, .precision = precision, .offloads = false, .most_stages = 4});
    const std::optional<std::string> failure = FindFailure(sample, options);
    ASSERT_FALSE(failure.has_value()) << FailureReport(seed, sample, *failure, options);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, PropertyTest, testing::Range<uint64_t>(0, kBlocks));

}  // namespace
}  // namespace cleave::tests::properties
