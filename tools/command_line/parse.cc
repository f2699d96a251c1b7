#include "tools/command_line/parse.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/text.h"

namespace cleave::tools {
namespace {

// "--target" and "-h" for each option of `app`.
std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Of words that no option takes. Of an option `--name=value` only the name can be mistyped.
std::string Unexpected(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  std::string text = absl::StrCat("unexpected `", absl::StrJoin(words, " "), "`");
  for (const std::string& word : words) {
    if (!absl::StartsWith(word, "--")) continue;
    const std::optional<std::string> nearest = NearestName(word.substr(0, word.find('=')), OptionNames(app));
    if (nearest.has_value()) absl::StrAppend(&text, "; did you mean `", *nearest, "`?");
    break;
  }
  return text;
}

}  // namespace

ExitCode Print(const EarlyExit& exit, std::ostream& out, std::ostream& err) {
  (exit.code == ExitCode::kDone ? out : err) << exit.text;
  return exit.code;
}

EarlyExit UsageError(ErrorFormat format, const std::string& message) {
  return {.code = ExitCode::kUsage, .text = UsageErrorText(format, message, "`--help` lists the options")};
}

std::optional<EarlyExit> Parse(CLI::App& app, const std::vector<std::string>& words, ErrorFormat format) {
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // The parser takes them from the back.
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    if (app.exit(error, out, err) == 0) return EarlyExit{.code = ExitCode::kDone, .text = out.str()};
    // What is there and wrong comes before what is missing.
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    const bool is_unexpected = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
    return UsageError(format, is_unexpected && !app.remaining().empty() ? Unexpected(app) : error.what());
  }
  return std::nullopt;
}

bool IsWord(const std::string& alternative) {
  return std::none_of(alternative.begin(), alternative.end(), absl::ascii_isupper);
}

std::vector<std::string> AlternativesOf(const CLI::Option& option) {
  return absl::StrSplit(option.get_type_name(), '|', absl::SkipEmpty());
}

std::string NotOneOf(const std::string& word, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return "";
  const std::optional<std::string> nearest = NearestName(word, words);
  return absl::StrCat("`", word, "` is not ", QuotedList(words, "or"),
                      nearest.has_value() ? absl::StrCat("; did you mean `", *nearest, "`?") : "");
}

CLI::Option* SetValue(CLI::Option* option, const std::string& alternatives) {
  option->type_name(alternatives);
  const std::vector<std::string> words = AlternativesOf(*option);
  if (!std::all_of(words.begin(), words.end(), IsWord)) return option;
  return option->check(CLI::Validator([words](const std::string& text) { return NotOneOf(text, words); }, ""));
}

// The checks of CLI11 print a double's whole range.
CLI::Validator WholeNumber(int64_t low, std::optional<int64_t> high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= low && (!high || value <= *high)) return "";
    return absl::StrCat("`", text, "` is not a whole number ",
                        high ? absl::StrCat("from ", FormatCount(low), " to ", FormatCount(*high))
                             : absl::StrCat("of at least ", FormatCount(low)));
  };
  return CLI::Validator(check, "");
}

}  // namespace cleave::tools
