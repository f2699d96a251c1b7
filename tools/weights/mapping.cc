#include "tools/weights/mapping.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/file/file.h"
#include "base/text/text.h"
#include "tools/text_template/text_template.h"

namespace cleave::tools {
namespace {

using runtime::Error;
using runtime::Result;

constexpr int64_t kMostMappingBytes = int64_t{1} << 20;

struct MappingFile {
  absl::string_view path;  // "tools/weights/mappings/gpt2.map"
  absl::string_view text;
};

constexpr MappingFile kMappingFiles[] = {
#include "tools/weights/mappings.inc"
};

absl::string_view NameOf(const MappingFile& file) {
  return absl::StripSuffix(file.path.substr(file.path.rfind('/') + 1), ".map");
}

Error MappingError(std::string message) { return {runtime::ExitCode::kInput, std::move(message)}; }

constexpr size_t kMostDigits = 18;  // No number of these overflows, a shift added.
constexpr size_t kMostShiftDigits = 3;

// The number with which a text begins, as numbers are written; what follows it is left in `text`.
std::optional<int64_t> ConsumeNumber(absl::string_view& text, size_t most_digits) {
  size_t size = 0;
  while (size < text.size() && absl::ascii_isdigit(text[size])) ++size;
  int64_t number = 0;
  if (size > most_digits || (size > 1 && text[0] == '0')) return std::nullopt;
  if (!absl::SimpleAtoi(text.substr(0, size), &number)) return std::nullopt;
  text.remove_prefix(size);
  return number;
}

// Reads the words of one line.
class LineReader {
 public:
  LineReader(int number, absl::string_view text) {
    line_.number = number;
    words_ = absl::StrSplit(text, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  }

  Result<MappingLine> Read() {
    if (words_.size() < 2) return MappingError("has no name in the other program");
    if (auto error = ReadNames()) return *error;
    if (auto error = ReadHow()) return *error;
    if (auto error = CheckNumbers()) return *error;
    return line_;
  }

 private:
  std::optional<Error> ReadNames() {
    if (words_[0] != "-") {
      Result<NamePattern> ours = NamePattern::Parse(words_[0]);
      if (!ours.ok()) return ours.error();
      if (absl::StrContains(words_[0], "[")) return MappingError("has brackets in a name of this project");
      line_.ours = std::move(ours.value());
    }
    for (next_ = 1;; next_ += 2) {
      if (next_ == words_.size()) return MappingError("ends where a name is expected");
      Result<NamePattern> theirs = NamePattern::Parse(words_[next_]);
      if (!theirs.ok()) return theirs.error();
      const bool is_copy = next_ > 1 && words_[next_ - 1] == "=";
      if (is_copy) line_.copy = std::move(theirs.value());
      if (!is_copy) line_.theirs.push_back(std::move(theirs.value()));
      const std::string after = next_ + 1 < words_.size() ? words_[next_ + 1] : "";
      if (is_copy || (after != "+" && after != "=")) break;
    }
    ++next_;
    if (line_.copy.has_value() && line_.theirs.size() > 1) {
      return MappingError("has `=` after several names, which belongs to one");
    }
    return std::nullopt;
  }

  std::optional<Error> ReadHow() {
    const std::vector<std::string> known = {"transposed", "qkv", "vocabulary", "stacked", "optional"};
    for (; next_ < words_.size(); ++next_) {
      const std::string& word = words_[next_];
      bool* const flag = word == known[0]   ? &line_.is_transposed
                         : word == known[1] ? &line_.is_qkv
                         : word == known[2] ? &line_.is_vocabulary
                         : word == known[3] ? &is_stacked_
                         : word == known[4] ? &line_.is_optional
                                            : nullptr;
      if (flag == nullptr) {
        const std::optional<std::string> nearest = NearestName(word, known);
        return MappingError(absl::StrCat("has `", ShownWord(word), "`, which is not ", QuotedList(known, "or"),
                                         nearest.has_value() ? absl::StrCat("; did you mean `", *nearest, "`?") : ""));
      }
      if (*flag) return MappingError(absl::StrCat("says `", word, "` twice"));
      if (!line_.ours.has_value()) return MappingError(absl::StrCat("says `", word, "` of what is not wanted"));
      *flag = true;
    }
    if (line_.is_vocabulary && line_.theirs.size() > 1) {
      return MappingError("says `vocabulary` of several tensors");
    }
    if (is_stacked_ && (line_.theirs.size() > 1 || line_.copy.has_value() || line_.is_qkv || line_.is_vocabulary)) {
      return MappingError("says `stacked` beside other things; only `transposed` and `optional` may stand there, too");
    }
    if (!line_.ours.has_value() && (line_.theirs.size() > 1 || line_.copy.has_value())) {
      return MappingError("has several names that are not wanted; each takes a line of its own");
    }
    return std::nullopt;
  }

  std::optional<Error> CheckNumbers() {
    if (!line_.ours.has_value()) return std::nullopt;
    if (is_stacked_) return FindCounter();
    std::vector<const NamePattern*> patterns;
    for (const NamePattern& theirs : line_.theirs) patterns.push_back(&theirs);
    if (line_.copy.has_value()) patterns.push_back(&*line_.copy);
    for (const NamePattern* const theirs : patterns) {
      if (theirs->Names() == line_.ours->Names()) continue;
      return MappingError(
          absl::StrCat("has other numbers in braces in `", line_.ours->text(), "` than in `", theirs->text(), "`"));
    }
    return std::nullopt;
  }

  // The one number that only the other name has.
  std::optional<Error> FindCounter() {
    std::set<std::string> more = line_.theirs[0].Names();
    const std::set<std::string> ours = line_.ours->Names();
    const bool has_all = std::includes(more.begin(), more.end(), ours.begin(), ours.end());
    for (const std::string& name : ours) more.erase(name);
    if (!has_all || more.size() != 1 || (*more.begin())[0] == 'p') {
      return MappingError(absl::StrCat("says `stacked`: `", line_.theirs[0].text(),
                                       "` has one number in braces more than `", line_.ours->text(),
                                       "`, which counts the tensors"));
    }
    line_.stacked_by = *more.begin();
    return std::nullopt;
  }

  static std::string ShownWord(const std::string& word) { return word.substr(0, 60); }

  MappingLine line_;
  bool is_stacked_ = false;
  std::vector<std::string> words_;
  size_t next_ = 0;
};

}  // namespace

Result<std::vector<NamePattern::Piece>> NamePattern::ParsePieces(absl::string_view text) {
  std::vector<Piece> pieces = {{}};
  while (!text.empty()) {
    if (text[0] != '{') {
      if (text[0] == '}') return MappingError("has `}` without `{`");
      if (!pieces.back().name.empty()) {
        if (absl::ascii_isdigit(text[0])) return MappingError("has a digit behind `}`");
        if (pieces.back().is_word() && text[0] != '.') {
          return MappingError(absl::StrCat("has no dot behind `{", pieces.back().name, "}`, which is a whole word"));
        }
        pieces.emplace_back();
      }
      pieces.back().literal += text[0];
      text.remove_prefix(1);
      continue;
    }
    const size_t end = text.find('}');
    if (end == text.npos) return MappingError("has `{` without `}`");
    const absl::string_view inside = text.substr(1, end - 1);
    const absl::string_view name = inside.substr(0, inside.find('+'));
    absl::string_view rest = inside.substr(name.size());
    const bool is_shifted = absl::ConsumePrefix(&rest, "+");
    const std::optional<int64_t> shift = is_shifted ? ConsumeNumber(rest, kMostShiftDigits) : 0;
    if (name.empty() || !std::all_of(name.begin(), name.end(), absl::ascii_islower) || !shift.has_value() ||
        !rest.empty()) {
      return MappingError(
          absl::StrCat("has `{", inside, "}`: in braces stand lower case letters, as in `{i}` and in `{i+1}`"));
    }
    if (is_shifted && name[0] == 'p') return MappingError(absl::StrCat("has `{", inside, "}`, which adds to a word"));
    if (!pieces.back().name.empty()) return MappingError("has `{` behind `}`");
    pieces.back().name = std::string(name);
    pieces.back().shift = *shift;
    text.remove_prefix(end + 1);
  }
  return pieces;
}

Result<NamePattern> NamePattern::Parse(absl::string_view text) {
  NamePattern pattern;
  pattern.text_ = std::string(text);
  const size_t open = text.find('['), close = text.find(']');
  const bool has_brackets = open != text.npos || close != text.npos;
  if (has_brackets &&
      (open == text.npos || close == text.npos || close < open || text.find_first_of("[]", open + 1) != close ||
       text.find_first_of("[]", close + 1) != text.npos)) {
    return MappingError("may have one `[` and one `]` behind it in a name");
  }
  if (text == "+" || text == "=") return MappingError(absl::StrCat("has `", text, "` where a name is expected"));
  std::string full(text), without;
  if (has_brackets) {
    const absl::string_view optional = text.substr(open + 1, close - open - 1);
    if (absl::StrContains(optional, "{")) return MappingError("has `{` in brackets");
    without = absl::StrCat(text.substr(0, open), text.substr(close + 1));
    full = absl::StrCat(text.substr(0, open), optional, text.substr(close + 1));
  }
  Result<std::vector<Piece>> pieces = ParsePieces(full);
  if (!pieces.ok()) return pieces.error();
  pattern.full_ = std::move(pieces.value());
  if (!has_brackets) return pattern;
  Result<std::vector<Piece>> shorter = ParsePieces(without);
  if (!shorter.ok()) return shorter.error();
  pattern.short_ = std::move(shorter.value());
  return pattern;
}

std::set<std::string> NamePattern::Names() const {
  std::set<std::string> names;
  for (const Piece& piece : full_) {
    if (!piece.name.empty()) names.insert(piece.name);
  }
  return names;
}

std::optional<NameParts> NamePattern::MatchPieces(const std::vector<Piece>& pieces, absl::string_view name) {
  NameParts parts;
  for (const Piece& piece : pieces) {
    if (!absl::ConsumePrefix(&name, piece.literal)) return std::nullopt;
    if (piece.name.empty()) continue;
    NamePart part;
    if (piece.is_word()) {
      const std::string word(name.substr(0, name.find('.')));
      if (word.empty()) return std::nullopt;
      name.remove_prefix(word.size());
      part = word;
    } else {
      const std::optional<int64_t> number = ConsumeNumber(name, kMostDigits);
      if (!number.has_value() || *number < piece.shift) return std::nullopt;
      part = *number - piece.shift;
    }
    const auto [found, is_first] = parts.emplace(piece.name, part);
    if (!is_first && found->second != part) return std::nullopt;
  }
  return name.empty() ? std::make_optional(std::move(parts)) : std::nullopt;
}

std::optional<NameParts> NamePattern::Match(absl::string_view name) const {
  std::optional<NameParts> parts = MatchPieces(full_, name);
  if (!parts.has_value() && short_.has_value()) parts = MatchPieces(*short_, name);
  return parts;
}

std::string NamePattern::Fill(const NameParts& parts) const {
  std::string name;
  for (const Piece& piece : full_) {
    absl::StrAppend(&name, piece.literal);
    if (piece.name.empty()) continue;
    const NamePart& part = parts.at(piece.name);
    if (piece.is_word()) {
      absl::StrAppend(&name, std::get<std::string>(part));
    } else {
      absl::StrAppend(&name, std::get<int64_t>(part) + piece.shift);
    }
  }
  return name;
}

bool Mapping::HasQkv() const {
  return std::any_of(lines.begin(), lines.end(), [](const MappingLine& line) { return line.is_qkv; });
}

Result<Mapping> ParseMapping(const std::string& name, absl::string_view text) {
  Mapping mapping{name, {}};
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    Result<MappingLine> read = LineReader(number, line).Read();
    if (!read.ok()) return MappingError(absl::StrCat("line ", number, " of ", name, " ", read.error().message));
    mapping.lines.push_back(std::move(read.value()));
  }
  if (mapping.lines.empty()) return MappingError(absl::StrCat(name, " has no lines"));
  return mapping;
}

std::vector<std::string> MappingNames() {
  std::vector<std::string> names;
  for (const MappingFile& file : kMappingFiles) names.emplace_back(NameOf(file));
  return names;
}

absl::string_view MappingText(absl::string_view name) {
  for (const MappingFile& file : kMappingFiles) {
    if (NameOf(file) == name) return file.text;
  }
  return "";
}

std::vector<std::string> MappingConditions(absl::string_view name) {
  std::vector<std::string> conditions;
  for (absl::string_view line : absl::StrSplit(MappingText(name), '\n')) {
    if (!absl::ConsumePrefix(&line, "%if ")) continue;
    absl::ConsumePrefix(&line, "not ");
    const std::string condition(absl::StripAsciiWhitespace(line));
    if (std::find(conditions.begin(), conditions.end(), condition) == conditions.end()) conditions.push_back(condition);
  }
  return conditions;
}

Result<Mapping> ReadMapping(const std::string& name_or_path, const std::vector<std::string>& conditions) {
  const absl::string_view known_text = MappingText(name_or_path);
  if (!known_text.empty()) {
    TemplateValues values;
    for (const std::string& condition : conditions) values[condition] = "true";
    const absl::StatusOr<std::string> filled = FillTemplate(known_text, values);
    CLEAVE_CHECK(filled.ok()) << filled.status().message();
    return ParseMapping(absl::StrCat("the mapping `", name_or_path, "`"), *filled);
  }
  const absl::StatusOr<std::string> text =
      ReadFile(name_or_path, {.what = "mapping", .most_bytes = kMostMappingBytes, .pipes = Pipes::kRead});
  if (text.ok()) return ParseMapping(QuotedPath(name_or_path), *text);
  const std::string known = QuotedList(MappingNames(), "and");
  return MappingError(absl::StrCat(text.status().message(), "; mappings that have names are ", known));
}

}  // namespace cleave::tools
