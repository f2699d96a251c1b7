#include "tools/data/packing.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

uint64_t Seed() {
  const char* const text = std::getenv("CLEAVE_TEST_SEED");
  return text == nullptr ? 7 : std::strtoull(text, nullptr, 10);
}

// The fewest rows, by trying all.
size_t FewestRows(std::vector<uint32_t> lengths, uint32_t room) {
  std::sort(lengths.rbegin(), lengths.rend());
  size_t best = lengths.size();
  std::vector<uint32_t> rows;
  const auto place = [&](const auto& self, size_t i) -> void {
    if (rows.size() >= best) return;
    if (i == lengths.size()) {
      best = rows.size();
      return;
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows[row] + lengths[i] > room) continue;
      rows[row] += lengths[i];
      self(self, i + 1);
      rows[row] -= lengths[i];
    }
    rows.push_back(lengths[i]);
    self(self, i + 1);
    rows.pop_back();
  };
  place(place, 0);
  return best;
}

void ExpectEachOnce(const std::vector<std::vector<uint32_t>>& rows, const std::vector<uint32_t>& lengths,
                    uint32_t room) {
  std::vector<uint32_t> all;
  for (const std::vector<uint32_t>& row : rows) {
    ASSERT_FALSE(row.empty());
    ASSERT_TRUE(std::is_sorted(row.begin(), row.end()));
    uint64_t sum = 0;
    for (const uint32_t sample : row) sum += lengths[sample];
    ASSERT_LE(sum, room);
    all.insert(all.end(), row.begin(), row.end());
  }
  ASSERT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  std::sort(all.begin(), all.end());
  std::vector<uint32_t> expected(lengths.size());
  std::iota(expected.begin(), expected.end(), 0);
  ASSERT_EQ(all, expected);
}

TEST(PackingTest, NothingIsLostAndRowsAreFew) {
  std::mt19937_64 random(Seed());
  for (int round = 0; round < 500; ++round) {
    const uint32_t room = 1 + static_cast<uint32_t>(random() % 20);
    std::vector<uint32_t> lengths(random() % 10);
    for (uint32_t& length : lengths) length = 1 + static_cast<uint32_t>(random() % room);
    const auto rows = PackBestFit(lengths, room);
    SCOPED_TRACE(testing::Message() << "CLEAVE_TEST_SEED=" << Seed() << ", round " << round);
    ExpectEachOnce(rows, lengths, room);
    // Tight for first fit decreasing (Dosa 2007); so few samples leave best fit no way to do worse.
    ASSERT_LE(9 * rows.size(), 11 * FewestRows(lengths, room) + 6);
  }
}

// Lengths as conversations have them fill the rows.
TEST(PackingTest, LittleIsWasted) {
  std::mt19937_64 random(Seed());
  std::lognormal_distribution<double> draw(5, 1);
  constexpr uint32_t kRoom = 2048;
  std::vector<uint32_t> lengths(20000);
  for (uint32_t& length : lengths) length = static_cast<uint32_t>(std::clamp(draw(random), 1.0, 2048.0));
  const auto rows = PackBestFit(lengths, kRoom);
  ExpectEachOnce(rows, lengths, kRoom);
  const uint64_t sum = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  EXPECT_LE(rows.size(), (sum + kRoom - 1) / kRoom + 1);
}

TEST(PackingTest, SmallCases) {
  using Rows = std::vector<std::vector<uint32_t>>;
  EXPECT_EQ(PackBestFit({}, 4), Rows());
  EXPECT_EQ(PackBestFit({4, 4}, 4), (Rows{{0}, {1}}));
  EXPECT_EQ(PackBestFit({1, 3, 2, 2}, 4), (Rows{{0, 1}, {2, 3}}));
  EXPECT_EQ(PackBestFit({1, 1, 1, 1}, 4), (Rows{{0, 1, 2, 3}}));
}

}  // namespace
}  // namespace cleave::tools
