// The compiler's proof catches every program that was broken on purpose.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/testing/seed.h"
#include "tests/properties/case.h"
#include "tests/properties/verdict.h"

namespace cleave::tests::properties {
namespace {

constexpr uint64_t kCases = 80;
constexpr uint64_t kMostCases = 400;  // Used if some mutations have not found anything to break yet.
constexpr int kPlaces = 2;

bool AllHadSomethingToBreak(const VerdictTable& table) {
  return std::all_of(table.begin(), table.end(),
                     [](const auto& entry) { return entry.second.applied > entry.second.equivalent; });
}

TEST(MutantsTest, AreAllCaught) {
  const uint64_t seed = ir::TestSeed();
  VerdictTable table;
  for (uint64_t i = 0; i < kCases || (i < kMostCases && !AllHadSomethingToBreak(table)); ++i) {
    const PlannedGraph sample = RandomCase(seed + i, {.most_ops = 8, .largest_size = 6});
    const absl::StatusOr<Compiled> compiled = Compile(sample);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const std::vector<std::string> missed = TryMutants(*compiled, kPlaces, seed + i, table);
    EXPECT_TRUE(missed.empty()) << absl::StrJoin(missed, "\n") << "\nof case " << seed + i << "\n" << CaseText(sample);
  }
  std::cout << TableText(table);
  for (const auto& [name, verdicts] : table) {
    EXPECT_GT(verdicts.applied, verdicts.equivalent) << "nothing to break: " << name;
  }
}

}  // namespace
}  // namespace cleave::tests::properties
