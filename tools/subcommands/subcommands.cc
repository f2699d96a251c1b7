#include "tools/subcommands/subcommands.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/text/text.h"
#include "tools/calibrate/calibrate.h"
#include "tools/clean/clean.h"
#include "tools/data/data.h"
#include "tools/doctor/doctor.h"
#include "tools/driver/driver.h"
#include "tools/error_pages/error_pages.h"
#include "tools/export/export.h"
#include "tools/fmt/fmt.h"
#include "tools/import/import.h"
#include "tools/lsp/lsp.h"
#include "tools/plan_diff/command.h"
#include "tools/profile/command.h"
#include "tools/serve/serve.h"
#include "tools/subcommands/completion.h"
#include "tools/subcommands/man_page.h"
#include "tools/sweep/sweep.h"
#include "tools/watch/watch.h"
#include "tools/weights/weights.h"

namespace cleave::tools {
namespace {

constexpr absl::string_view kVersion =
#include "tools/subcommands/version.inc"
    ;

// "1.0"
absl::string_view Number() { return absl::StripSuffix(kVersion, "\n"); }

constexpr absl::string_view kIntroduction =
    "Compiles models into programs that train them on any number of ranks.\n\n"
    "Usage: cleave SUBCOMMAND [OPTIONS] ...\n\n";

template <Command command>
void Describe(CLI::App& app) {
  DescribeOptions(command, app);
}

template <Command command>
ExitCode Run(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunCommandLine(command, name, summary, words);
}

// "E0304", "w601": a letter and digits, as no model file is called.
bool LooksLikeCode(const std::string& word) {
  return word.size() > 1 && (absl::ascii_toupper(word[0]) == 'E' || absl::ascii_toupper(word[0]) == 'W') &&
         std::all_of(word.begin() + 1, word.end(), absl::ascii_isdigit);
}

ExitCode Explain(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  if (!words.empty() && !LooksLikeCode(words[0])) return Run<Command::kExplain>(name, summary, words);
  const CodeAnswer answer = ExplainCode(words);
  return Print({.code = answer.is_answered ? ExitCode::kDone : ExitCode::kUsage, .text = answer.text});
}

ExitCode CompareTwo(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  const DiffAnswer answer = RunDiff(name, summary, words);
  std::cout << answer.output;
  std::cerr << answer.error;
  return answer.exit_code;
}

ExitCode Profile(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunProfile(name, summary, words);
}

ExitCode FormatFiles(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunFmt(name, summary, words, {std::cin, std::cout, std::cerr});
}

ExitCode Clean(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunClean(name, summary, words);
}

ExitCode Calibrate(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunCalibrate(name, summary, words);
}

ExitCode Doctor(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunDoctor(name, summary, words);
}

ExitCode Weights(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunWeights(name, summary, words);
}

ExitCode ImportModel(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunImport(name, summary, words);
}

ExitCode ExportModel(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunExport(name, summary, words);
}

ExitCode Data(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunData(name, summary, words);
}

ExitCode SweepSettings(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunSweep(name, summary, words);
}

ExitCode ServeEditor(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunLsp(name, summary, words);
}

ExitCode Serve(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunServe(name, summary, words);
}

ExitCode Watch(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  return RunWatch(name, summary, words);
}

void AddShell(CLI::App& app, std::string& shell) {
  SetValue(app.add_option("SHELL", shell, "For which shell")->required(), "bash|zsh");
}

void DescribeCompletion(CLI::App& app) { AddShell(app, *new std::string); }

ExitCode PrintCompletion(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  std::string shell;
  CLI::App app(summary, name);
  AddShell(app, shell);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  std::cout << (shell == "bash" ? BashCompletion(Subcommands()) : ZshCompletion(Subcommands()));
  return ExitCode::kDone;
}

std::string Overview() {
  std::string text(kIntroduction);
  for (const Subcommand& subcommand : Subcommands()) {
    absl::StrAppend(&text, absl::StrFormat("  %-12s%s\n", subcommand.name, subcommand.summary));
  }
  absl::StrAppend(&text, "\n`cleave SUBCOMMAND --help` lists its options, `cleave --version` shows the version.\n");
  return text;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : Subcommands()) names.push_back(subcommand.name);
  return names;
}

EarlyExit Unknown(const std::string& word, ErrorFormat format) {
  std::vector<std::string> known = Names();
  known.insert(known.end(), {"--help", "--version"});
  const std::optional<std::string> nearest = NearestName(word, known);
  return {.text =
              UsageErrorText(format,
                             absl::StrCat("no subcommand `", word, "`",
                                          nearest.has_value() ? absl::StrCat("; did you mean `", *nearest, "`?") : ""),
                             "`cleave help` lists the subcommands")};
}

ExitCode Dispatch(const std::string& word, const std::vector<std::string>& rest, ErrorFormat format) {
  for (const Subcommand& subcommand : Subcommands()) {
    if (subcommand.name != word) continue;
    return subcommand.run(absl::StrCat("cleave ", word), absl::StrCat(subcommand.summary, "."), rest);
  }
  return Print(Unknown(word, format));
}

struct HelpOptions {
  std::string topic;
  bool man = false;
};

void AddHelpOptions(CLI::App& app, HelpOptions& options) {
  SetValue(app.add_option("SUBCOMMAND", options.topic, "Whose options to list (default: all subcommands)"),
           "SUBCOMMAND");
  app.add_flag("--man", options.man, "Print the manual page, for `man -l`");
}

void DescribeHelp(CLI::App& app) { AddHelpOptions(app, *new HelpOptions); }

ExitCode Help(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  HelpOptions options;
  CLI::App app(summary, name);
  AddHelpOptions(app, options);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  if (options.man) return Print({.code = ExitCode::kDone, .text = ManPage(Subcommands(), Number())});
  if (!options.topic.empty()) return Dispatch(options.topic, {"--help"}, ErrorFormat::kText);
  return Print({.code = ExitCode::kDone, .text = Overview()});
}

void DescribeNothing(CLI::App&) {}

ExitCode Version(const std::string& name, const std::string& summary, const std::vector<std::string>& words) {
  CLI::App app(summary, name);
  if (const auto exit = Parse(app, words)) return Print(*exit);
  return Print({.code = ExitCode::kDone, .text = absl::StrCat("cleave ", Number(), "\n")});
}

}  // namespace

const std::vector<Subcommand>& Subcommands() {
  static const auto& subcommands = *new std::vector<Subcommand>{
      {"compile", "Compiles a model into a program", Describe<Command::kCompile>, Run<Command::kCompile>},
      {"run", "Compiles a model, builds the program and starts it; what follows -- goes to its run.sh",
       Describe<Command::kRun>, Run<Command::kRun>},
      {"sweep", "Runs a model with the product of settings, and compares their losses", DescribeSweep, SweepSettings},
      {"plan", "Finds the plan of a model and prints what it needs on each rank", Describe<Command::kPlan>,
       Run<Command::kPlan>},
      {"explain", "Shows the plan of a model with its reasons, or the page of a diagnostic code",
       Describe<Command::kExplain>, Explain},
      {"diff", "Says what changed from one plan.json to another", DescribeDiff, CompareTwo},
      {"profile", "Shows what a run measured beside what its plan predicts", DescribeProfile, Profile},
      {"import", "Makes a model, its weights and a page of commands of a folder of Hugging Face", DescribeImport,
       ImportModel},
      {"export", "Makes a folder of Hugging Face of a checkpoint of an imported model", DescribeExport, ExportModel},
      {"weights", "Lists, compares, exports and imports weights", DescribeWeights, Weights},
      {"data", "Makes arrays and files of tokens of conversations and texts, and shows them", DescribeData, Data},
      {"serve", "Answers HTTP in the form of OpenAI's interface with a program that generates", DescribeServe, Serve},
      {"watch", "Shows the curves of a run in the terminal, or as a table", DescribeWatch, Watch},
      {"fmt", "Formats model files", DescribeFmt, FormatFiles},
      {"lsp", "Answers an editor in the Language Server Protocol: mistakes, types and plans while one types",
       DescribeLsp, ServeEditor},
      {"doctor", "Says what this machine has of what generated programs need", DescribeDoctor, Doctor},
      {"calibrate", "Measures machines and describes them in a cluster file, for plans", DescribeCalibrate, Calibrate},
      {"clean", "Removes the cache of compiled runtimes", DescribeClean, Clean},
      {"completion", "Prints the completion of these subcommands for a shell", DescribeCompletion, PrintCompletion},
      {"help", "Lists the subcommands, or the options of one", DescribeHelp, Help},
      {"version", "Prints the version", DescribeNothing, Version},
  };
  return subcommands;
}

ExitCode RunCleave(const std::vector<std::string>& words) {
  const ErrorFormat format = FormatAskedFor(words);
  if (words.empty()) {
    return Print({.text = UsageErrorText(format, "a subcommand is missing", "`cleave help` lists the subcommands")});
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "--help" || words[0] == "-h") return Dispatch("help", rest, format);
  if (words[0] == "--version") return Dispatch("version", rest, format);
  return Dispatch(words[0], rest, format);
}

}  // namespace cleave::tools
