// Reading guide: Changes finds the shortest list of lines to remove and to add; LineDiff groups and prints it.
#include "tools/fmt/line_diff.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave::tools {
namespace {

constexpr int kContext = 3;
constexpr int kMostChanges = 2000;  // The memory of the search is quadratic in it.

using Lines = std::vector<absl::string_view>;  // Each with its newline, which the last one may lack.

Lines LinesOf(absl::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t length = std::min(text.size(), text.find('\n') == text.npos ? text.size() : text.find('\n') + 1);
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

// A line of both texts (' '), of the first alone ('-'), or of the second alone ('+').
struct Line {
  char kind;
  absl::string_view text;
};

// All lines of both texts: those of each are in their order, and as few as possible are in one text alone.
//
// furthest[d] is for the ways to read the first x lines of `a` and y lines of `b` with d lines in one text alone: its
// entry k + d is the largest x of those with x - y = k.
std::vector<Line> Changes(const Lines& a, const Lines& b) {
  const int n = static_cast<int>(a.size());
  const int m = static_cast<int>(b.size());
  std::vector<std::vector<int>> furthest;
  const auto last = [&](int d, int k) { return furthest[d - 1][k + d - 1]; };
  // Whether the last of d changes is a line of `b`, else one of `a`.
  const auto adds = [&](int d, int k) { return k == -d || (k != d && last(d, k - 1) < last(d, k + 1)); };
  const auto after_change = [&](int d, int k) {
    if (d == 0) return 0;
    return adds(d, k) ? last(d, k + 1) : last(d, k - 1) + 1;
  };
  bool is_found = false;
  for (int d = 0; !is_found && d <= std::min(n + m, kMostChanges); ++d) {
    std::vector<int> row(2 * d + 1);
    for (int k = -d; k <= d && !is_found; k += 2) {
      int x = after_change(d, k);
      while (x < n && x - k < m && a[x] == b[x - k]) ++x;
      row[k + d] = x;
      is_found = x >= n && x - k >= m;
    }
    furthest.push_back(std::move(row));
  }
  std::vector<Line> lines;
  if (!is_found) {
    for (const absl::string_view line : a) lines.push_back({'-', line});
    for (const absl::string_view line : b) lines.push_back({'+', line});
    return lines;
  }
  int x = n;
  int y = m;
  for (int d = static_cast<int>(furthest.size()) - 1; d >= 0; --d) {
    const int k = x - y;
    for (const int begin = after_change(d, k); x > begin; --x, --y) lines.push_back({' ', a[x - 1]});
    if (d == 0) break;
    lines.push_back(adds(d, k) ? Line{'+', b[--y]} : Line{'-', a[--x]});
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::string Range(int begin, int count) {
  // An empty range is named by the line before it.
  const int first = count == 0 ? begin : begin + 1;
  return count == 1 ? absl::StrCat(first) : absl::StrCat(first, ",", count);
}

}  // namespace

std::string LineDiff(absl::string_view before, absl::string_view after, const std::string& before_name,
                     const std::string& after_name) {
  if (before == after) return "";
  const std::vector<Line> lines = Changes(LinesOf(before), LinesOf(after));
  std::string text = absl::StrCat("--- ", before_name, "\n+++ ", after_name, "\n");
  const int count = static_cast<int>(lines.size());
  int a = 0;  // The lines of each text before `next`.
  int b = 0;
  int next = 0;
  while (true) {
    int first = next;
    while (first < count && lines[first].kind == ' ') ++first;
    if (first == count) return text;
    // The hunk ends where so many equal lines follow that the context of the next change does not touch it.
    int last = first;
    for (int i = first; i < count && i <= last + 2 * kContext + 1; ++i) {
      if (lines[i].kind != ' ') last = i;
    }
    const int begin = std::max(next, first - kContext);
    const int end = std::min(count, last + kContext + 1);
    a += begin - next;
    b += begin - next;
    int removed = 0;
    int added = 0;
    std::string body;
    for (int i = begin; i < end; ++i) {
      removed += lines[i].kind != '+';
      added += lines[i].kind != '-';
      body += lines[i].kind;
      absl::StrAppend(&body, lines[i].text, lines[i].text.back() == '\n' ? "" : "\n\\ No newline at end of file\n");
    }
    absl::StrAppend(&text, "@@ -", Range(a, removed), " +", Range(b, added), " @@\n", body);
    a += removed;
    b += added;
    next = end;
  }
}

}  // namespace cleave::tools
