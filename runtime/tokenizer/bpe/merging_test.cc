#include "runtime/tokenizer/bpe/merging.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

namespace cleave::runtime {
namespace {

using Tokens = std::vector<int32_t>;

// The tokens after all merges of tokens of size 1, whose sizes must add up.
Tokens Merged(const MergeTable& merges, const Tokens& row) {
  std::vector<SizedToken> sized;
  for (const int32_t token : row) sized.push_back({token, 1});
  Tokens tokens;
  size_t size = 0;
  for (const SizedToken& token : MergeAll(merges, sized)) {
    tokens.push_back(token.token);
    size += token.size;
  }
  EXPECT_EQ(size, row.size());
  return tokens;
}

// The earliest merge at the leftmost place, as long as there is one.
Tokens MergedOneByOne(const MergeTable& merges, Tokens row) {
  while (true) {
    const Merge* best = nullptr;
    size_t place = 0;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      const Merge* const merge = merges.Find(row[i], row[i + 1]);
      if (merge == nullptr || (best != nullptr && best->rank <= merge->rank)) continue;
      best = merge;
      place = i;
    }
    if (best == nullptr) return row;
    row[place] = best->token;
    row.erase(row.begin() + static_cast<int64_t>(place) + 1);
  }
}

TEST(MergeAll, IsThatOfOneMergeAfterTheOther) {
  const char* const text = std::getenv("CLEAVE_TEST_SEED");
  const uint64_t seed = text == nullptr ? 7 : std::strtoull(text, nullptr, 10);
  std::mt19937_64 random(seed);
  const auto draw = [&](int32_t limit) { return static_cast<int32_t>(random() % static_cast<uint64_t>(limit)); };
  for (int round = 0; round < 2000; ++round) {
    MergeTable merges;
    int32_t tokens = 1 + draw(4);
    const int32_t characters = tokens;
    const int32_t count = draw(12);
    for (int32_t i = 0; i < count; ++i) {
      const int32_t left = draw(tokens);
      const int32_t right = draw(tokens);
      // Some merges make a token that there is already.
      merges.Add(left, right, draw(4) == 0 ? draw(tokens) : tokens++);
    }
    Tokens row;
    const int32_t length = draw(40);
    for (int32_t i = 0; i < length; ++i) row.push_back(draw(characters));
    ASSERT_EQ(Merged(merges, row), MergedOneByOne(merges, row)) << "CLEAVE_TEST_SEED=" << seed << ", round " << round;
  }
}

TEST(MergeAll, SmallRows) {
  MergeTable merges;
  merges.Add(0, 0, 1);
  merges.Add(1, 1, 2);
  EXPECT_EQ(Merged(merges, {}), Tokens());
  EXPECT_EQ(Merged(merges, {0}), Tokens({0}));
  EXPECT_EQ(Merged(merges, {0, 0, 0}), Tokens({1, 0}));
  EXPECT_EQ(Merged(merges, {0, 0, 0, 0, 0}), Tokens({2, 0}));
  EXPECT_EQ(Merged(merges, {3, 0, 0, 3}), Tokens({3, 1, 3}));
}

}  // namespace
}  // namespace cleave::runtime
