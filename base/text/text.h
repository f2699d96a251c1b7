// Small text functions that absl lacks.
#ifndef CLEAVE_BASE_TEXT_TEXT_H_
#define CLEAVE_BASE_TEXT_TEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace cleave {

// The candidate nearest to `word` by Damerau-Levenshtein distance, if it is near enough to be a likely typing mistake
// (distance at most a third of the length of `word`, at least 1). Ties: the earliest candidate.
std::optional<std::string> NearestName(absl::string_view word, absl::Span<const std::string> candidates);

// Whether `name` is what `pattern` describes: `*` stands for any text, `?` for any character.
bool MatchesPattern(absl::string_view pattern, absl::string_view name);

// "1 rank", "8 ranks".
std::string Plural(int64_t count, absl::string_view noun);

// `a`, `b` and `c`: each in backticks, the last two joined by `conjunction`.
std::string QuotedList(absl::Span<const std::string> names, absl::string_view conjunction);

// A double with the fewest digits that read back exactly: "0.05", "1e-05", "3.0" (always with a dot or an exponent).
std::string FormatDouble(double value);

// An element count with separators: 1,234,567.
std::string FormatCount(int64_t count);

// The offset of the first control character (U+202A to U+202E, U+2066 to U+2069) that changes the order in which text
// is shown, so that what a reader sees is not what a compiler reads. Each takes three bytes. (Boucher, Anderson: Trojan
// Source, 2021.)
std::optional<size_t> FindDirectionControl(absl::string_view text);

// "U+202E". REQUIRES: such a character is at `offset`.
std::string DirectionControlName(absl::string_view text, size_t offset);

}  // namespace cleave

#endif  // CLEAVE_BASE_TEXT_TEXT_H_
