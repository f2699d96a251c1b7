#include "base/disjoint_sets/disjoint_sets.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "base/strong_id/strong_id.h"
#include "gtest/gtest.h"

namespace cleave {
namespace {

using Id = StrongId<struct TestTag>;

TEST(DisjointSetsTest, EachIsAloneAtFirst) {
  DisjointSets<int> sets(3);
  for (const int i : {0, 1, 2}) EXPECT_EQ(sets.Of(i), i);
}

// Against labels that are all replaced at each join.
TEST(DisjointSetsTest, ASetIsKnownByItsSmallestMember) {
  constexpr int64_t kCount = 50;
  std::mt19937 random(7);
  DisjointSets<Id> sets(kCount);
  std::vector<int64_t> labels(kCount);
  for (int64_t i = 0; i < kCount; ++i) labels[static_cast<size_t>(i)] = i;
  for (int joins = 0; joins < 45; ++joins) {
    const int64_t a = random() % kCount, b = random() % kCount;
    sets.Join(Id(a), Id(b));
    const int64_t from = labels[static_cast<size_t>(a)], to = labels[static_cast<size_t>(b)];
    for (int64_t& label : labels) {
      if (label == from || label == to) label = std::min(from, to);
    }
    for (int64_t i = 0; i < kCount; ++i) EXPECT_EQ(sets.Of(Id(i)), Id(labels[static_cast<size_t>(i)]));
  }
}

}  // namespace
}  // namespace cleave
