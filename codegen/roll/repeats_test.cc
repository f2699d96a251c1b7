#include "codegen/roll/repeats.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

TEST(RepeatsTest, FindsWhatFollowsItself) {
  EXPECT_EQ(FindRepeats({7, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}), (std::vector<Repeat>{{3, {1, 4, 7}}}));
  EXPECT_EQ(FindRepeats({7, 1, 1, 1, 8}), (std::vector<Repeat>{{1, {1, 2, 3}}}));
  EXPECT_TRUE(FindRepeats({1, 2, 3, 4}).empty());
  EXPECT_TRUE(FindRepeats({}).empty());
  EXPECT_TRUE(FindRepeats({1, 1, 1}, {.least_saved = 3}).empty()) << "said once, two symbols are saved";
}

TEST(RepeatsTest, FindsThePlacesApartToo) {
  EXPECT_EQ(FindRepeats({1, 2, 3, 9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8}), (std::vector<Repeat>{{3, {0, 4, 7, 10}}}));
}

// A symbol may stand several times within a period.
TEST(RepeatsTest, SymbolsMayBePairs) {
  EXPECT_EQ(FindRepeats({5, 5, 6, 6, 7, 7, 5, 5, 6, 6, 7, 7}), (std::vector<Repeat>{{6, {0, 6}}}));
}

// 1 2 3 may as well be 2 3 1.
TEST(RepeatsTest, BeginsWhereItIsToldTo) {
  const std::vector<int> symbols = {3, 1, 2, 3, 1, 2, 3, 8};
  EXPECT_EQ(FindRepeats(symbols), (std::vector<Repeat>{{3, {0, 3}}}));
  EXPECT_EQ(FindRepeats(symbols, {.starts = {1, 4}}), (std::vector<Repeat>{{3, {1, 4}}}));
}

TEST(RepeatsTest, TheLastPassMayLackItsEnd) {
  EXPECT_EQ(FindRepeats({1, 2, 3, 1, 2, 3, 1, 2, 8}), (std::vector<Repeat>{{2, {0, 3, 6}}, {1, {2, 5}}}));
  EXPECT_EQ(FindRepeats({1, 2, 3, 1, 2, 3, 1, 8}), (std::vector<Repeat>{{3, {0, 3}}})) << "less than half";
}

TEST(RepeatsTest, TheFirstPassMayLackItsBeginning) {
  EXPECT_EQ(FindRepeats({8, 2, 3, 1, 2, 3, 1, 2, 3, 9}, {.starts = {3, 6}}),
            (std::vector<Repeat>{{2, {1, 4, 7}}, {1, {3, 6}}}));
}

TEST(RepeatsTest, SomethingMayStandWithinAPass) {
  EXPECT_EQ(FindRepeats({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 7, 3, 4}),
            (std::vector<Repeat>{{2, {0, 4, 8}}, {2, {2, 6, 11}}}));
  EXPECT_EQ(FindRepeats({1, 2, 7, 8, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, {.starts = {6, 10}}),
            (std::vector<Repeat>{{2, {0, 6, 10}}, {2, {4, 8, 12}}}));
}

// Only a pass of the same loop is worth taking apart for.
TEST(RepeatsTest, OtherLoopsStayWhole) {
  const std::vector<int> symbols = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 7, 3, 4, 1, 2, 7, 3, 4};
  const auto loops = [](const Repeat& repeat) {
    const bool is_first = repeat.begins.back() < 8;
    const bool is_second = repeat.begins.front() >= 8;
    return static_cast<size_t>(is_first || is_second ? 1 : 2);
  };
  EXPECT_EQ(FindRepeats(symbols, {.starts = {0, 4, 8, 13}, .loops = loops}),
            (std::vector<Repeat>{{4, {0, 4}}, {5, {8, 13}}}));
}

TEST(RepeatsTest, WhatIsWorthNothingStays) {
  const auto loops = [](const Repeat& repeat) { return static_cast<size_t>(repeat.period > 3 ? 0 : 1); };
  EXPECT_EQ(FindRepeats({1, 1, 2, 2, 9, 1, 1, 2, 2, 9}, {.loops = loops}),
            (std::vector<Repeat>{{1, {0, 1, 5, 6}}, {1, {2, 3, 7, 8}}}));
}

TEST(RepeatsTest, OccurrencesAreEqualAndApart) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> symbols(random() % 60);
    for (int& symbol : symbols) symbol = static_cast<int>(random() % (1 + random() % 4));
    std::set<int> taken;
    for (const Repeat& repeat : FindRepeats(symbols)) {
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
