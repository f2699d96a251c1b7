#include "codegen/layers/repeats.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

TEST(RepeatsTest, FindsWhatFollowsItself) {
  EXPECT_EQ(FindRepeats({7, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}, {}, 2), (std::vector<Repeat>{{3, {1, 4, 7}}}));
  EXPECT_TRUE(FindRepeats({1, 2, 3, 4}, {}, 2).empty());
  EXPECT_TRUE(FindRepeats({}, {}, 2).empty());
  EXPECT_TRUE(FindRepeats({1, 1, 1, 1}, {}, 3).empty()) << "a repeat has at least three symbols";
}

TEST(RepeatsTest, FindsThePlacesApartToo) {
  EXPECT_EQ(FindRepeats({1, 2, 3, 9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}, {}, 2), (std::vector<Repeat>{{3, {0, 4, 7, 10}}}));
}

// A symbol may stand several times within a period.
TEST(RepeatsTest, SymbolsMayBePairs) {
  EXPECT_EQ(FindRepeats({5, 5, 6, 6, 7, 7, 5, 5, 6, 6, 7, 7}, {}, 2), (std::vector<Repeat>{{6, {0, 6}}}));
}

// 1 2 3 may as well be 2 3 1.
TEST(RepeatsTest, BeginsWhereItIsToldTo) {
  const std::vector<int> symbols = {3, 1, 2, 3, 1, 2, 3, 8};
  EXPECT_EQ(FindRepeats(symbols, {}, 2), (std::vector<Repeat>{{3, {0, 3}}}));
  EXPECT_EQ(FindRepeats(symbols, {1, 4}, 2), (std::vector<Repeat>{{3, {1, 4}}}));
}

TEST(RepeatsTest, OccurrencesAreEqualAndApart) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> symbols(random() % 60);
    for (int& symbol : symbols) symbol = static_cast<int>(random() % (1 + random() % 4));
    std::set<int> taken;
    for (const Repeat& repeat : FindRepeats(symbols, {}, 2)) {
      ASSERT_GE(repeat.begins.size(), 2u);
      for (const int begin : repeat.begins) {
        for (int i = 0; i < repeat.period; ++i) {
          ASSERT_LT(begin + i, static_cast<int>(symbols.size()));
          EXPECT_TRUE(taken.insert(begin + i).second) << "round " << round;
          EXPECT_EQ(symbols[static_cast<size_t>(begin + i)], symbols[static_cast<size_t>(repeat.begins[0] + i)]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cleave::codegen
