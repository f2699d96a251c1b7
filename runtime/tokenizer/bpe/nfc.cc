// Every character is taken apart, marks are put into their order by class, and what belongs together is joined again.
// A text of n characters takes O(n log n). Start reading at ComposedText;
// DecomposedText leaves out the last step.
#include "runtime/tokenizer/bpe/nfc.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/tokenizer/bpe/nfc_table.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// No text that has only characters below this one changes.
constexpr uint32_t kFirstDecomposed = 0xC0;

// Hangul syllables follow each other by leading consonant, vowel and trailing consonant, which may be none.
constexpr uint32_t kSyllables = 0xAC00;
constexpr uint32_t kLeading = 0x1100;
constexpr uint32_t kVowels = 0x1161;
constexpr uint32_t kTrailing = 0x11A7;
constexpr uint32_t kLeadingCount = 19;
constexpr uint32_t kVowelCount = 21;
constexpr uint32_t kTrailingCount = 28;

using Characters = std::vector<uint32_t>;

bool IsIn(uint32_t point, uint32_t first, uint32_t count) { return point >= first && point - first < count; }

bool IsSyllable(uint32_t point) { return IsIn(point, kSyllables, kLeadingCount * kVowelCount * kTrailingCount); }

uint8_t ClassOf(uint32_t point) {
  const auto* const found =
      std::lower_bound(std::begin(kCombiningClasses), std::end(kCombiningClasses), point,
                       [](const CombiningClass& range, uint32_t value) { return range.last < value; });
  return found != std::end(kCombiningClasses) && found->first <= point ? found->number : 0;
}

void AppendDecomposed(uint32_t point, Characters& characters) {
  if (IsSyllable(point)) {
    const uint32_t syllable = point - kSyllables;
    characters.push_back(kLeading + syllable / (kVowelCount * kTrailingCount));
    characters.push_back(kVowels + syllable / kTrailingCount % kVowelCount);
    if (syllable % kTrailingCount != 0) characters.push_back(kTrailing + syllable % kTrailingCount);
    return;
  }
  const auto* const found =
      std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), point,
                       [](const Decomposition& decomposition, uint32_t value) { return decomposition.point < value; });
  if (found == std::end(kDecompositions) || found->point != point) {
    characters.push_back(point);
    return;
  }
  AppendDecomposed(found->first, characters);
  if (found->second != 0) AppendDecomposed(found->second, characters);
}

void SortMarks(Characters& characters) {
  for (auto begin = characters.begin(); begin != characters.end();) {
    const auto is_mark = [](uint32_t point) { return ClassOf(point) != 0; };
    begin = std::find_if(begin, characters.end(), is_mark);
    const auto end = std::find_if_not(begin, characters.end(), is_mark);
    std::stable_sort(begin, end, [](uint32_t a, uint32_t b) { return ClassOf(a) < ClassOf(b); });
    begin = end;
  }
}

// 0 where these two stay two.
uint32_t Composed(uint32_t first, uint32_t second) {
  if (IsIn(first, kLeading, kLeadingCount) && IsIn(second, kVowels, kVowelCount)) {
    return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
  }
  const bool lacks_trailing = IsSyllable(first) && (first - kSyllables) % kTrailingCount == 0;
  if (lacks_trailing && IsIn(second, kTrailing + 1, kTrailingCount - 1)) return first + (second - kTrailing);
  static const auto& composed_of = *[] {
    auto* const table = new std::map<std::pair<uint32_t, uint32_t>, uint32_t>;
    for (const Decomposition& one : kDecompositions) {
      if (one.is_composed) (*table)[{one.first, one.second}] = one.point;
    }
    return table;
  }();
  const auto found = composed_of.find({first, second});
  return found == composed_of.end() ? 0 : found->second;
}

// A mark joins the last character that is none, unless one of its class, or a character that is no mark, is between.
Characters ComposedOf(const Characters& characters) {
  Characters composed;
  size_t base = 0;
  bool has_base = false;
  for (const uint32_t point : characters) {
    const uint8_t own = ClassOf(point);
    const bool is_next = has_base && base + 1 == composed.size();
    const bool is_reached = has_base && (is_next || (own != 0 && ClassOf(composed.back()) < own));
    const uint32_t joined = is_reached ? Composed(composed[base], point) : 0;
    if (joined != 0) {
      composed[base] = joined;
      continue;
    }
    if (own == 0) {
      base = composed.size();
      has_base = true;
    }
    composed.push_back(point);
  }
  return composed;
}

// Taken apart, with marks in order; nothing where no character of the text could change.
std::optional<Characters> Decomposed(const std::string& text) {
  Characters characters;
  uint32_t largest = 0;
  for (size_t at = 0; at < text.size();) {
    const uint32_t point = ReadUtf8(text, at);
    largest = std::max(largest, point);
    AppendDecomposed(point, characters);
  }
  if (largest < kFirstDecomposed) return std::nullopt;
  SortMarks(characters);
  return characters;
}

std::string TextOf(const Characters& characters) {
  std::string text;
  for (const uint32_t point : characters) AppendUtf8(point, text);
  return text;
}

}  // namespace

std::string ComposedText(const std::string& text) {
  const std::optional<Characters> characters = Decomposed(text);
  return characters.has_value() ? TextOf(ComposedOf(*characters)) : text;
}

std::string DecomposedText(const std::string& text) {
  const std::optional<Characters> characters = Decomposed(text);
  return characters.has_value() ? TextOf(*characters) : text;
}

}  // namespace cleave::runtime
