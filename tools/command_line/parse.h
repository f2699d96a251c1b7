// Command lines: what their values may be, and how their mistakes are told.
//
//   CLI::App app("Compares two plans.", "diff");
//   SetValue(app.add_option("BEFORE", before, "The earlier plan")->required(), "FILE.json");
//   if (const auto exit = Parse(app, words)) return Print(*exit);
#ifndef CLEAVE_TOOLS_COMMAND_LINE_PARSE_H_
#define CLEAVE_TOOLS_COMMAND_LINE_PARSE_H_

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tools/command_line/exit_code.h"
#include "tools/command_line/usage.h"

namespace cleave::tools {

// A command line that asks for something other than what its command does: print `text` (to standard error unless
// `code` is kDone) and exit.
struct EarlyExit {
  ExitCode code = ExitCode::kUsage;
  std::string text;
};

// Prints it; returns its code.
ExitCode Print(const EarlyExit& exit, std::ostream& out = std::cout, std::ostream& err = std::cerr);

// Reads `words`, which do not begin with the name of the program, into the variables that the options of `app` name. An
// answer is the help that they ask for, or their first mistake.
std::optional<EarlyExit> Parse(CLI::App& app, const std::vector<std::string>& words,
                               ErrorFormat format = ErrorFormat::kText);

// The mistake `message` of a command line whose options `--help` lists.
EarlyExit UsageError(ErrorFormat format, const std::string& message);

// Says what the value of an option or argument is, in alternatives separated by `|`: words in lower case, and in upper
// case `FILE`, `FILE.json` (a file whose name ends so), `FOLDER`, or anything else that has no list: "cpu|cuda",
// "cpu|h100x8|FILE.json", "N". The help shows it, and shells complete it. Where all alternatives are words, no other
// value is accepted.
CLI::Option* SetValue(CLI::Option* option, const std::string& alternatives);

// The alternatives of an option, in order; none for a flag.
std::vector<std::string> AlternativesOf(const CLI::Option& option);

// Whether an alternative is a word that stands for itself.
bool IsWord(const std::string& alternative);

// "`x` is not `a` or `b`; did you mean …" where `word` is none of `words`; empty where it is.
std::string NotOneOf(const std::string& word, const std::vector<std::string>& words);

// Accepts whole numbers from `low`, up to what 63 bits hold if there is no `high`.
CLI::Validator WholeNumber(int64_t low, std::optional<int64_t> high = std::nullopt);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_COMMAND_LINE_PARSE_H_
