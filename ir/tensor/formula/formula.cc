#include "ir/tensor/formula/formula.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace cleave::ir {
namespace {

constexpr absl::string_view kArrow = "->";

std::string TermText(const Formula::Term& term) {
  if (term.empty()) return "()";
  return absl::StrJoin(term, " ", [](std::string* out, const Formula::Dimension& dimension) {
    if (dimension.empty()) return absl::StrAppend(out, "1");
    if (dimension.size() == 1) return absl::StrAppend(out, dimension[0]);
    absl::StrAppend(out, "(", absl::StrJoin(dimension, " "), ")");
  });
}

bool IsName(absl::string_view word) {
  absl::ConsumePrefix(&word, "..");
  if (word.empty() || absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

absl::Status Malformed(absl::string_view what, absl::string_view term) {
  return absl::InvalidArgumentError(absl::StrCat(what, " in `", absl::StripAsciiWhitespace(term), "`"));
}

absl::StatusOr<Formula::Term> ParseTerm(absl::string_view text) {
  const std::string spaced = absl::StrJoin(absl::StrSplit(text, '('), " ( ");
  const std::string words = absl::StrJoin(absl::StrSplit(spaced, ')'), " ) ");
  Formula::Term term;
  bool inside = false;
  bool scalar = false;
  for (const absl::string_view word : absl::StrSplit(words, ' ', absl::SkipWhitespace())) {
    if (word == "(") {
      if (inside) return Malformed("parentheses inside of parentheses", text);
      inside = true;
      term.emplace_back();
    } else if (word == ")") {
      if (!inside) return Malformed("`)` without `(`", text);
      inside = false;
      if (!term.back().empty()) continue;
      scalar = true;
      term.pop_back();
    } else if (inside && (!IsName(word) || absl::StartsWith(word, ".."))) {
      return Malformed(absl::StrCat("`", word, "` is not a name for an index"), text);
    } else if (inside) {
      term.back().emplace_back(word);
    } else if (word == "1") {
      term.emplace_back();
    } else if (IsName(word)) {
      term.push_back({std::string(word)});
    } else {
      return Malformed(absl::StrCat("`", word, "` is not a name for an index"), text);
    }
  }
  if (inside) return Malformed("`(` without `)`", text);
  if (scalar && !term.empty()) return Malformed("`()` stands for a scalar and cannot be used beside names", text);
  return term;
}

struct Sides {
  std::vector<absl::string_view> inputs;
  absl::string_view output;
};

absl::StatusOr<Sides> SidesOf(absl::string_view text) {
  const size_t arrow = text.find(kArrow);
  if (arrow == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("`", text, "` has no `->`: the result must be written too"));
  }
  const absl::string_view output = text.substr(arrow + kArrow.size());
  if (absl::StrContains(output, kArrow)) return absl::InvalidArgumentError(absl::StrCat("`", text, "` has two `->`"));
  if (absl::StrContains(output, ',')) {
    return absl::InvalidArgumentError(absl::StrCat("`", text, "` has a comma behind `->`: there is one result"));
  }
  return Sides{.inputs = absl::StrSplit(text.substr(0, arrow), ','), .output = output};
}

// Each letter apart from its neighbours.
std::string Spread(absl::string_view term) {
  std::string spread;
  for (const char c : term) absl::StrAppend(&spread, absl::string_view(&c, 1), " ");
  return spread;
}

bool IsCompact(absl::string_view term) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(term);
  return std::all_of(stripped.begin(), stripped.end(),
                     [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); });
}

}  // namespace

std::string Formula::ToString() const {
  const std::string left =
      absl::StrJoin(inputs, ", ", [](std::string* out, const Term& term) { absl::StrAppend(out, TermText(term)); });
  return absl::StrCat(left, left.empty() ? "" : " ", kArrow, " ", TermText(output));
}

absl::StatusOr<Formula> ParseFormula(absl::string_view text) {
  const absl::StatusOr<Sides> sides = SidesOf(text);
  if (!sides.ok()) return sides.status();
  Formula formula;
  for (const absl::string_view input : sides->inputs) {
    absl::StatusOr<Formula::Term> term = ParseTerm(input);
    if (!term.ok()) return term.status();
    formula.inputs.push_back(*std::move(term));
  }
  absl::StatusOr<Formula::Term> output = ParseTerm(sides->output);
  if (!output.ok()) return output.status();
  formula.output = *std::move(output);
  return formula;
}

absl::StatusOr<Formula> ParseLetters(absl::string_view text) {
  const absl::StatusOr<Sides> sides = SidesOf(text);
  if (!sides.ok()) return sides.status();
  const bool compact = IsCompact(sides->output) && std::all_of(sides->inputs.begin(), sides->inputs.end(), IsCompact);
  if (!compact) return ParseFormula(text);
  const std::string inputs = absl::StrJoin(
      sides->inputs, ", ", [](std::string* out, absl::string_view term) { absl::StrAppend(out, Spread(term)); });
  return ParseFormula(absl::StrCat(inputs, kArrow, Spread(sides->output)));
}

std::string LettersText(const Formula& formula) {
  const std::string text = formula.ToString();
  const absl::StatusOr<Formula> read = ParseLetters(text);
  if (read.ok() && *read == formula) return text;
  // A word alone would be read letter by letter; in parentheses it is not.
  const auto term_text = [](const Formula::Term& term) {
    return absl::StrJoin(term, " ", [](std::string* out, const Formula::Dimension& dimension) {
      absl::StrAppend(out, "(", absl::StrJoin(dimension, " "), ")");
    });
  };
  return absl::StrCat(
      absl::StrJoin(formula.inputs, ", ",
                    [&](std::string* out, const Formula::Term& term) { absl::StrAppend(out, term_text(term)); }),
      " ", kArrow, " ", term_text(formula.output));
}

int CountOf(const Formula::Term& term, const std::string& name) {
  int count = 0;
  for (const Formula::Dimension& dimension : term) {
    count += static_cast<int>(std::count(dimension.begin(), dimension.end(), name));
  }
  return count;
}

std::vector<std::string> NamesOf(const Formula& formula) {
  std::vector<std::string> names;
  const auto add = [&](const Formula::Term& term) {
    for (const Formula::Dimension& dimension : term) {
      for (const std::string& name : dimension) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  };
  for (const Formula::Term& term : formula.inputs) add(term);
  add(formula.output);
  return names;
}

}  // namespace cleave::ir
