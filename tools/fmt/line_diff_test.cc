#include "tools/fmt/line_diff.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

std::string Diff(const std::string& before, const std::string& after) { return LineDiff(before, after, "a", "b"); }

TEST(LineDiffTest, EqualTextsHaveNone) {
  EXPECT_EQ(Diff("", ""), "");
  EXPECT_EQ(Diff("x\ny\n", "x\ny\n"), "");
}

TEST(LineDiffTest, ShowsThreeLinesAround) {
  EXPECT_EQ(Diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(LineDiffTest, ChangesFarApartAreHunksOfTheirOwn) {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += std::to_string(i) + "\n";
    after += i == 2 || i == 18 ? "changed\n" : std::to_string(i) + "\n";
  }
  EXPECT_EQ(Diff(before, after),
            "--- a\n+++ b\n@@ -1,5 +1,5 @@\n 1\n-2\n+changed\n 3\n 4\n 5\n"
            "@@ -15,6 +15,6 @@\n 15\n 16\n 17\n-18\n+changed\n 19\n 20\n");
}

TEST(LineDiffTest, EmptyTextsAndMissingNewlines) {
  EXPECT_EQ(Diff("", "x\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(Diff("x\ny\n", ""), "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n");
  EXPECT_EQ(Diff("x", "x\n"), "--- a\n+++ b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// `before` after the change that `diff` describes, as `patch` makes it; counts the lines that change.
std::vector<std::string> Patched(const std::vector<std::string>& before, const std::string& diff, int& changes) {
  std::vector<std::string> after;
  size_t next = 0;
  std::vector<std::string> lines = absl::StrSplit(diff, '\n');
  lines.pop_back();  // Behind the last newline.
  for (size_t i = 2; i < lines.size(); ++i) {
    if (lines[i][0] == '@') {
      const std::vector<std::string> ranges = absl::StrSplit(lines[i].substr(4), absl::ByAnyChar(", "));
      int begin = 0;
      EXPECT_TRUE(absl::SimpleAtoi(ranges[0], &begin));
      // An empty range is named by the line before it.
      const size_t until = static_cast<size_t>(lines[i].find(",0 +") == std::string::npos ? begin - 1 : begin);
      for (; next < until; ++next) after.push_back(before.at(next));
      continue;
    }
    if (lines[i][0] != '+') {
      EXPECT_EQ(before.at(next++), lines[i].substr(1));
    }
    if (lines[i][0] != '-') after.push_back(lines[i].substr(1));
    changes += lines[i][0] != ' ';
  }
  after.insert(after.end(), before.begin() + static_cast<std::ptrdiff_t>(next), before.end());
  return after;
}

// The fewest lines to remove and add, by the longest common subsequence.
int FewestChanges(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      common[i][j] = a[i - 1] == b[j - 1] ? common[i - 1][j - 1] + 1 : std::max(common[i - 1][j], common[i][j - 1]);
    }
  }
  return static_cast<int>(a.size() + b.size()) - 2 * common[a.size()][b.size()];
}

TEST(LineDiffTest, LeadsFromOneTextToTheOtherWithTheFewestChanges) {
  std::mt19937 random(7);
  const auto lines = [&] {
    std::vector<std::string> result(random() % 40);
    for (std::string& line : result) line = std::string(1, static_cast<char>('a' + random() % 6));
    return result;
  };
  for (int i = 0; i < 500; ++i) {
    const std::vector<std::string> before = lines(), after = lines();
    const std::string diff = Diff(Joined(before), Joined(after));
    int changes = 0;
    if (before != after) {
      EXPECT_EQ(Patched(before, diff, changes), after) << diff;
    }
    EXPECT_EQ(changes, FewestChanges(before, after)) << diff;
  }
}

TEST(LineDiffTest, LargeTextsWithNothingInCommonAreReplaced) {
  std::string before, after;
  for (int i = 0; i < 5000; ++i) {
    before += std::to_string(i) + "\n";
    after += std::to_string(-1 - i) + "\n";
  }
  EXPECT_EQ(Diff(before, after).substr(0, 35), "--- a\n+++ b\n@@ -1,5000 +1,5000 @@\n-");
}

}  // namespace
}  // namespace cleave::tools
