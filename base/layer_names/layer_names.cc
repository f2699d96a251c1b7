#include "base/layer_names/layer_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace cleave {
namespace {

// A number in its shortest form, "7" but not "07", that fits into 63 bits.
bool IsNumber(absl::string_view text, int64_t* number) {
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  const bool digits = std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  return digits && (text.size() == 1 || text[0] != '0') && absl::SimpleAtoi(text, number);
}

// Calls visit(begin, end, number) for each number between dots.
template <typename Visit>
void ForEachNumber(absl::string_view name, const Visit& visit) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    int64_t number = 0;
    if (IsNumber(name.substr(begin, end - begin), &number)) visit(begin, end, number);
    begin = end + 1;
  }
}

// The text for the numbers at one place of the names. In the backward pass the numbers count down.
std::string FoldedNumber(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  if (numbers.front() == numbers.back()) return absl::StrCat(numbers[0]);
  const auto gap = std::adjacent_find(numbers.begin(), numbers.end(), [](int64_t a, int64_t b) { return b != a + 1; });
  return gap == numbers.end() ? absl::StrCat(numbers.front(), "..", numbers.back()) : "*";
}

}  // namespace

LayerName LayerNameOf(absl::string_view name) {
  LayerName result;
  result.place.reserve(name.size());
  size_t copied = 0;
  ForEachNumber(name, [&](size_t begin, size_t end, int64_t number) {
    result.numbers.push_back(number);
    result.place.append(name.data() + copied, begin - copied).push_back('#');
    copied = end;
  });
  result.place.append(name.data() + copied, name.size() - copied);
  return result;
}

LayerNumbers LayerNumbersOf(absl::string_view name) {
  LayerNumbers numbers;
  ForEachNumber(name, [&](size_t, size_t, int64_t number) { numbers.push_back(number); });
  return numbers;
}

absl::string_view LayerOf(absl::string_view name) {
  for (size_t end = name.size(); end != 0;) {
    const size_t dot = name.substr(0, end).rfind('.');
    int64_t number = 0;
    if (IsNumber(name.substr(0, end).substr(dot == absl::string_view::npos ? 0 : dot + 1), &number)) {
      return name.substr(0, end);
    }
    end = dot == absl::string_view::npos ? 0 : dot;
  }
  return "";
}

std::string FoldedName(absl::Span<const std::string> names) {
  std::vector<LayerName> parsed;
  for (const std::string& name : names) parsed.push_back(LayerNameOf(name));
  std::vector<std::string> parts = absl::StrSplit(names[0], '.');
  size_t place = 0;
  for (std::string& part : parts) {
    int64_t number = 0;
    if (!IsNumber(part, &number)) continue;
    std::vector<int64_t> numbers;
    for (const LayerName& name : parsed) numbers.push_back(name.numbers[place]);
    part = FoldedNumber(numbers);
    ++place;
  }
  return absl::StrJoin(parts, ".");
}

std::string FoldedText(absl::string_view text) {
  std::vector<std::string> words = absl::StrSplit(text, ' ');
  for (std::string& word : words) {
    // "0.5" is a quantity; names start with a letter.
    if (!word.empty() && absl::ascii_isalpha(word[0])) word = LayerNameOf(word).place;
  }
  return absl::StrJoin(words, " ");
}

}  // namespace cleave
