#include "base/text/text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace cleave {
namespace {

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, replacements, swaps of neighbours.
int Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

// Longer names are not typing mistakes, and the distance is quadratic.
constexpr size_t kLongestWord = 64;

}  // namespace

std::optional<std::string> NearestName(absl::string_view word, absl::Span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  int best_distance = std::max<int>(1, static_cast<int>(word.size()) / 3) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const int distance = Distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// Where a character does not match, the last star takes one more.
bool MatchesPattern(absl::string_view pattern, absl::string_view name) {
  size_t at = 0;
  size_t star = absl::string_view::npos;  // The last one passed.
  size_t taken = 0;                       // Where the text behind what it stands for begins.
  for (size_t i = 0; i < name.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = i;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[i])) {
      ++at;
      ++i;
    } else if (star != absl::string_view::npos) {
      at = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == absl::string_view::npos;
}

std::string Plural(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string QuotedList(absl::Span<const std::string> names, absl::string_view conjunction) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) absl::StrAppend(&text, i + 1 == names.size() ? absl::StrCat(" ", conjunction, " ") : ", ");
    absl::StrAppend(&text, "`", names[i], "`");
  }
  return text;
}

std::string FormatDouble(double value) {
  char buffer[32];
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string FormatCount(int64_t count) {
  std::string digits = absl::StrCat(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::optional<size_t> FindDirectionControl(absl::string_view text) {
  for (size_t at = text.find('\xE2'); at != absl::string_view::npos && text.size() - at >= 3;
       at = text.find('\xE2', at + 1)) {
    const absl::string_view rest = text.substr(at + 1, 2);
    const bool embeds = rest >= "\x80\xAA" && rest <= "\x80\xAE";
    const bool isolates = rest >= "\x81\xA6" && rest <= "\x81\xA9";
    if (embeds || isolates) return at;
  }
  return std::nullopt;
}

std::string DirectionControlName(absl::string_view text, size_t offset) {
  const auto low_bits = [&](size_t byte) { return static_cast<unsigned char>(text[offset + byte]) & 0x3F; };
  return absl::StrFormat("U+%04X", 0x2000 | low_bits(1) << 6 | low_bits(2));
}

}  // namespace cleave
