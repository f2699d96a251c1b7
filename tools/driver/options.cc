#include "tools/driver/options.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "tools/driver/usage.h"

namespace cleave::tools {
namespace {

constexpr char kRankTable[] = "rank-table";
constexpr int64_t kMostDevices = int64_t{1} << 20;

const std::map<std::string, EmitStage>& Stages() {
  static const auto& stages = *new std::map<std::string, EmitStage>{{"ast", EmitStage::kAst},
                                                                    {"graph", EmitStage::kGraph},
                                                                    {"plan", EmitStage::kPlan},
                                                                    {"program", EmitStage::kProgram},
                                                                    {"source", EmitStage::kSource}};
  return stages;
}

EarlyExit UsageError(ErrorFormat format, const std::string& message) {
  return {.code = ExitCode::kUsage, .text = UsageErrorText(format, message, "`--help` lists the options")};
}

// The format of errors that a command line asks for, even if something else in it is wrong.
ErrorFormat FormatAskedFor(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--error-format=json") return ErrorFormat::kJson;
    if (word == "--error-format" && i + 1 < argc && std::string(argv[i + 1]) == "json") return ErrorFormat::kJson;
  }
  return ErrorFormat::kText;
}

EarlyExit ExitOf(const CLI::App& app, const CLI::ParseError& error, ErrorFormat format) {
  std::ostringstream out, err;
  if (app.exit(error, out, err) == 0) return {.code = ExitCode::kDone, .text = out.str()};
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    std::string left;
    for (const std::string& word : app.remaining()) absl::StrAppend(&left, left.empty() ? "" : " ", word);
    return UsageError(format, absl::StrCat("unexpected `", left, "`"));
  }
  return UsageError(format, error.what());
}

// Whole numbers from `low`, up to what 63 bits hold if there is no `high`. (The checks of CLI11 print a double's whole
// range.)
CLI::Validator WholeNumber(int64_t low, std::optional<int64_t> high = std::nullopt) {
  const auto check = [low, high](const std::string& text) -> std::string {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= low && (!high || value <= *high)) return "";
    return absl::StrCat("`", text, "` is not a whole number ",
                        high ? absl::StrCat("from ", FormatCount(low), " to ", FormatCount(*high))
                             : absl::StrCat("of at least ", FormatCount(low)));
  };
  return CLI::Validator(check, "");
}

CLI::Validator OneOf(std::vector<std::string> words) {
  const auto check = [words](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    const auto nearest = NearestName(text, words);
    return absl::StrCat("`", text, "` is not ", QuotedList(words, "or"),
                        nearest ? absl::StrCat("; did you mean `", *nearest, "`?") : "");
  };
  return CLI::Validator(check, "");
}

// `--launch rank-table FILE` as one word behind the option, so that each option has one.
std::vector<std::string> WithTableInOneWord(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 0; i < argc; ++i) {
    words.emplace_back(argv[i]);
    const bool names_table = i > 0 && words.back() == kRankTable && std::string(argv[i - 1]) == "--launch";
    if (names_table && i + 1 < argc) absl::StrAppend(&words.back(), " ", argv[++i]);
  }
  return words;
}

// Reads what `--launch` says into `options`; returns what is wrong with it, or an empty text.
std::string ReadLaunch(const std::string& launch, CompileOptions& options) {
  const size_t space = launch.find(' ');
  options.launch = launch.substr(0, space);
  if (space != std::string::npos) options.rank_table = launch.substr(space + 1);
  if (options.launch == kRankTable) {
    return options.rank_table.empty() ? "--launch rank-table: the table is missing: `--launch rank-table FILE`" : "";
  }
  const std::vector<std::string> ways = {"mpirun", kRankTable, "dynamic", "local"};
  if (std::find(ways.begin(), ways.end(), launch) != ways.end()) return "";
  return absl::StrCat("--launch: ", OneOf(ways)(launch));
}

// Options that contradict each other; empty if there are none.
std::string Contradiction(const CompileOptions& options) {
  if (options.run && options.plan_only) return "`--plan-only` writes no program that `--run` could start";
  if (options.run && options.emit) return "`--emit` writes no program that `--run` could start";
  if (!options.launch.empty() && (options.plan_only || options.emit)) {
    return "`--launch` says how a program starts, and with `--plan-only` or `--emit` none is written";
  }
  if (options.log_redistributions && options.emit) return "`--log` and `--emit` print different things";
  if (options.plan_only && options.emit) return "`--plan-only` and `--emit` print different things";
  if (!options.plan_file.empty() && options.search)
    return "`--plan` takes an existing plan; `--search` makes a new one";
  if (options.rank && options.emit != EmitStage::kProgram && options.emit != EmitStage::kSource) {
    return "`--rank` goes with `--emit program` or `--emit source`";
  }
  return "";
}

}  // namespace

std::variant<CompileOptions, EarlyExit> ParseCommandLine(int argc, const char* const* argv) {
  const ErrorFormat format = FormatAskedFor(argc, argv);
  CompileOptions options;
  std::vector<std::string> sets;
  std::string emit, error_format, launch, log;
  CLI::App app("Compiles a .model file into a program that trains it on any number of ranks.", "compile");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app.add_option("MODEL", options.model, "The model file")->required();
  app.add_option("--devices", options.devices, "Number of ranks (default: the model's, else 1)")
      ->check(WholeNumber(1, kMostDevices));
  app.add_option("--cluster", options.cluster,
                 "The machines: a preset (cpu, h100x8, h100x8*4, ...) or a JSON file (default: cpu; with --target "
                 "cuda h100x8)");
  app.add_option("--search", options.search,
                 "How the plan is found: sapp, propagate, exact, data_parallel, replicate or manual")
      ->check(OneOf({"sapp", "propagate", "exact", "data_parallel", "replicate", "manual"}));
  app.add_option("--target", options.target, "cpu (default) or cuda")->check(OneOf({"cpu", "cuda"}));
  app.add_option("--out", options.out, "Output folder (default: out/<model>)");
  app.add_flag("--run", options.run, "Build the program and start it on this machine");
  app.add_option("--launch", launch,
                 "How run.sh starts the ranks: mpirun, rank-table FILE, dynamic or local (default: run.sh chooses)");
  app.add_option("--steps", options.steps, "Stop training after so many steps")->check(WholeNumber(1));
  app.add_option("--seed", options.seed, "Seed of initial values and of the order of samples")->check(WholeNumber(0));
  app.add_flag("--plan-only", options.plan_only,
               "Find the plan, print what it needs on each rank, write nothing; not proven by simulation");
  app.add_option("--plan", options.plan_file, "Take the plan from a plan.json instead of searching");
  app.add_option("--emit", emit,
                 "Print one stage and stop: ast, graph (with --search or --plan as planned), plan, program or source")
      ->check(OneOf({"ast", "graph", "plan", "program", "source"}));
  app.add_option("--rank", options.rank, "With --emit program or source: the program of this rank")
      ->check(WholeNumber(0, kMostDevices - 1));
  app.add_option("--log", log, "reshard: list every redistribution of a step")->check(OneOf({"reshard"}));
  app.add_option("--watch", options.watch,
                 "PATTERN: values whose norm, extremes and share of zeros go into metrics.jsonl, by their names in "
                 "plan.json, with * and ?; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  CLI::Option* explain =
      app.add_option("--explain", options.explain, "Print the plan as a table, or every choice of one op")
          ->expected(0, 1);
  app.add_option("--set", sets, "name=value: a model argument, or a setting of the train or parallel block")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--error-format", error_format, "text (default) or json, one object a line")
      ->check(OneOf({"text", "json"}));
  app.add_flag("--quiet", options.quiet, "Print errors and warnings only");
  const std::vector<std::string> words = WithTableInOneWord(argc, argv);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    return ExitOf(app, error, format);
  }
  if (options.model.empty()) return UsageError(format, "MODEL is required");
  if (explain->count() > 0 && !options.explain.has_value()) options.explain = "";
  if (!emit.empty()) options.emit = Stages().at(emit);
  options.error_format = format;
  options.log_redistributions = log == "reshard";
  for (const std::string& set : sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError(format, absl::StrCat("--set: expected name=value, found `", set, "`"));
    }
    options.overrides.emplace_back(set.substr(0, equals), set.substr(equals + 1));
  }
  if (!launch.empty()) {
    if (const std::string mistake = ReadLaunch(launch, options); !mistake.empty()) return UsageError(format, mistake);
  }
  if (const std::string contradiction = Contradiction(options); !contradiction.empty()) {
    return UsageError(format, contradiction);
  }
  return options;
}

}  // namespace cleave::tools
