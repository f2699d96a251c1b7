#include "base/text/text.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "gtest/gtest.h"

namespace cleave {
namespace {

TEST(TextTest, Patterns) {
  EXPECT_TRUE(MatchesPattern("h1.relu", "h1.relu"));
  EXPECT_TRUE(MatchesPattern("*", "h1.relu"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("h?.*", "h1.matmul.grad"));
  EXPECT_TRUE(MatchesPattern("*.grad", "h1.matmul.grad"));
  EXPECT_TRUE(MatchesPattern("*a*a*", "banana"));
  EXPECT_FALSE(MatchesPattern("h1", "h1.relu"));
  EXPECT_FALSE(MatchesPattern("h?", "h"));
  EXPECT_FALSE(MatchesPattern("*.grad", "h1.gradient"));
  EXPECT_FALSE(MatchesPattern("", "h1"));
  EXPECT_FALSE(MatchesPattern("a*b?c", "aabxbc"));
  EXPECT_TRUE(MatchesPattern("a*b?c", "aabxbxc"));
}

TEST(TextTest, NearestNameFindsTypingMistakes) {
  const std::vector<std::string> names = {"relu", "gelu", "matmul", "softmax"};
  EXPECT_EQ(NearestName("relo", names), "relu");
  EXPECT_EQ(NearestName("matmlu", names), "matmul");
  EXPECT_EQ(NearestName("convolution", names), std::nullopt);
  EXPECT_EQ(NearestName("", names), std::nullopt);
}

TEST(TextTest, NearestNameTakesTheEarliestOfEquals) {
  EXPECT_EQ(NearestName("xelu", std::vector<std::string>{"gelu", "relu"}), "gelu");
}

TEST(TextTest, PluralAddsAnS) {
  EXPECT_EQ(Plural(1, "rank"), "1 rank");
  EXPECT_EQ(Plural(0, "rank"), "0 ranks");
}

TEST(TextTest, QuotedListJoinsTheLastTwo) {
  EXPECT_EQ(QuotedList({"a"}, "and"), "`a`");
  EXPECT_EQ(QuotedList({"a", "b", "c"}, "or"), "`a`, `b` or `c`");
}

TEST(TextTest, FormatDoubleReadsBackExactly) {
  for (double value : {0.05, 1e-05, 3.0, 1.0 / 3, 1e300, -0.1})
    EXPECT_EQ(std::strtod(FormatDouble(value).c_str(), nullptr), value);
  EXPECT_EQ(FormatDouble(3), "3.0");
  EXPECT_EQ(FormatDouble(0.05), "0.05");
}

TEST(TextTest, FormatDoubleReadsBackExactlyForAnyBits) {
  constexpr uint64_t kSeed = 20240229;
  std::mt19937_64 bits(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(bits());
    if (!std::isfinite(value)) continue;
    const std::string text = FormatDouble(value);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text << ", seed " << kSeed << ", draw " << i;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(TextTest, FindsCharactersThatChangeTheDirectionOfText) {
  for (const std::string text : {"\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_EQ(FindDirectionControl("\u2028a" + text), 4u) << DirectionControlName(text, 0);
  }
  EXPECT_EQ(DirectionControlName("a\u202e", 1), "U+202E");
  EXPECT_EQ(DirectionControlName("\u2067", 0), "U+2067");
  for (const char* text : {"", "\u2029", "\u202f", "\u2065", "\u206a", "…\xe2\x80"}) {
    EXPECT_EQ(FindDirectionControl(text), std::nullopt) << text;
  }
}

TEST(TextTest, FormatCountSeparatesThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(-1234), "-1,234");
}

}  // namespace
}  // namespace cleave
