#include "tools/driver/options.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "search/model/cluster/presets.h"

namespace cleave::tools {
namespace {

constexpr char kRankTable[] = "rank-table";
constexpr char kTimePage[] = "time";
constexpr char kKernelsPage[] = "kernels";
constexpr char kNoTable[] = "--launch rank-table: the table is missing: `--launch rank-table FILE`";
constexpr int64_t kMostDevices = int64_t{1} << 20;

const std::map<std::string, EmitStage>& Stages() {
  static const auto& stages = *new std::map<std::string, EmitStage>{{"ast", EmitStage::kAst},
                                                                    {"graph", EmitStage::kGraph},
                                                                    {"plan", EmitStage::kPlan},
                                                                    {"program", EmitStage::kProgram},
                                                                    {"source", EmitStage::kSource}};
  return stages;
}

// `--launch rank-table FILE` as one word behind the option, so that each option has one.
std::vector<std::string> WithTableInOneWord(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  for (size_t i = 0; i < words.size(); ++i) {
    joined.push_back(words[i]);
    const bool names_table = i > 0 && words[i] == kRankTable && words[i - 1] == "--launch";
    if (names_table && i + 1 < words.size()) absl::StrAppend(&joined.back(), " ", words[++i]);
  }
  return joined;
}

// `--launch=rank-table` has no place for the table: the next word would be taken for something else.
bool LacksPlaceForTable(const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), absl::StrCat("--launch=", kRankTable)) != words.end();
}

// Reads what `--launch` says into `options`; returns what is wrong with it, or an empty text.
std::string ReadLaunch(const std::string& launch, CompileOptions& options) {
  const size_t space = launch.find(' ');
  options.launch = launch.substr(0, space);
  if (space != std::string::npos) options.rank_table = launch.substr(space + 1);
  if (options.launch == kRankTable) {
    return options.rank_table.empty() ? kNoTable : "";
  }
  const std::string mistake = NotOneOf(launch, {"mpirun", kRankTable, "dynamic", "local"});
  return mistake.empty() ? "" : absl::StrCat("--launch: ", mistake);
}

// Reads what `--also` says into `options`, the most first and each once; returns what is wrong with it, or an empty
// text.
std::string ReadAlso(const std::string& also, CompileOptions& options) {
  std::set<int64_t, std::greater<>> numbers;
  for (const absl::string_view text : absl::StrSplit(also, ',')) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 1 || number > kMostDevices) {
      return absl::StrCat("--also: expected numbers of ranks between commas, as in `4,2`, found `", also, "`");
    }
    numbers.insert(number);
  }
  options.also.assign(numbers.begin(), numbers.end());
  return options.devices.has_value() ? TooManyAlso(options, *options.devices) : "";
}

// Options that contradict each other; empty if there are none.
std::string Contradiction(const CompileOptions& options) {
  if (options.run && options.plan_only) return "`--plan-only` writes no program that `--run` could start";
  if (options.run && options.emit) return "`--emit` writes no program that `--run` could start";
  if (!options.launch.empty() && (options.plan_only || options.emit)) {
    return "`--launch` says how a program starts, and with `--plan-only` or `--emit` none is written";
  }
  const bool predicts = options.mode == ir::Mode::kPredict;
  if (predicts && options.outputs.empty()) return "`--mode predict` needs a value that is written: `--output NAME`";
  const bool generates = options.mode == ir::Mode::kGenerate;
  if (!predicts && !generates && !options.outputs.empty()) return "`--output` goes with `--mode predict`";
  if (generates && options.outputs.size() > 1) return "`--mode generate` takes one `--output`: the logits";
  const bool trains = options.mode == ir::Mode::kTrain;
  if (!trains && options.steps.has_value()) return "`--steps` goes with `--mode train`";
  if (!trains && !options.watch.empty()) return "`--watch` goes with `--mode train`";
  if (!generates && !options.tokenizer.empty()) return "`--tokenizer` goes with `--mode generate`";
  if (!generates && options.chunk != 1) return "`--chunk` goes with `--mode generate`";
  if (!options.also.empty()) {
    if (!trains) return "`--also` is for training that goes on with fewer ranks: it goes with `--mode train`";
    if (options.plan_only || options.emit) {
      return "`--also` is about programs, and with `--plan-only` or `--emit` none is written";
    }
    if (!options.plan_file.empty()) {
      return "`--also` makes a plan for each number of ranks, and `--plan` gives one for a single number";
    }
  }
  if (options.log_redistributions && options.emit) return "`--log` and `--emit` print different things";
  if (options.plan_only && options.emit) return "`--plan-only` and `--emit` print different things";
  for (const auto& [option, file] : {std::pair("--html", options.html), {"--trace", options.trace}}) {
    if (file == "") return absl::StrCat("`", option, "` needs the name of a file");
    if (file.has_value() && options.emit) {
      return absl::StrCat("`", option, "` goes with a plan that is made, not with `--emit`");
    }
  }
  if (!options.expect.empty() && options.emit) return "`--expect` goes with a plan that is shown, not with `--emit`";
  if (!options.beside.empty() && !options.trace.has_value()) return "`--beside` goes with `--trace`";
  if (!options.plan_file.empty() && options.search)
    return "`--plan` takes an existing plan; `--search` makes a new one";
  const bool is_of_rank = options.emit == EmitStage::kProgram || options.emit == EmitStage::kSource ||
                          options.explain == kTimePage || options.explain == kKernelsPage;
  if (options.rank && !is_of_rank) {
    return "`--rank` goes with `--emit program`, `--emit source` or `--explain time`";
  }
  return "";
}

// A command line as it is typed, where that is not what CompileOptions hold.
struct TypedOptions {
  CompileOptions options;
  std::vector<std::string> sets;
  std::string also, emit, error_format, launch, log, mode, op;
};

void AddPlanOptions(CLI::App& app, TypedOptions& typed) {
  CompileOptions& options = typed.options;
  SetValue(app.add_option("--devices", options.devices, "Number of ranks (default: the model's, else 1)"), "N")
      ->check(WholeNumber(1, kMostDevices));
  SetValue(app.add_option("--cluster", options.cluster,
                          "The machines; with a number of hosts as in h100x8*4 (default: cpu; with --target cuda "
                          "h100x8)"),
           absl::StrCat(absl::StrJoin(search::PresetNames(), "|"), "|FILE.json"));
  SetValue(app.add_option("--search", options.search, "How the plan is found"),
           "sapp|propagate|exact|data_parallel|replicate|manual");
  SetValue(app.add_option("--target", options.target, "What the program runs on (default: cpu)"), "cpu|cuda");
}

// Of programs that need not train, or have a plan already.
void AddModeOptions(CLI::App& app, TypedOptions& typed) {
  CompileOptions& options = typed.options;
  SetValue(
      app.add_option("--mode", typed.mode,
                     "What the program does: it trains, or with the parameters of a checkpoint it computes the "
                     "metrics of the test part, writes values of all samples, or continues texts (default: train)"),
      "train|evaluate|predict|generate");
  SetValue(app.add_option("--output", options.outputs,
                          "With --mode predict: a value that is written to NAME.npy; may be repeated. With --mode "
                          "generate: the logits (default: those of the loss)"),
           "NAME")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  SetValue(app.add_option("--tokenizer", options.tokenizer,
                          "With --mode generate: how texts become tokens (default: as in the model's data)"),
           "FILE.json");
  SetValue(app.add_option("--chunk", options.chunk,
                          "With --mode generate: how many places of a prompt a step takes (default: 1)"),
           "N")
      ->check(WholeNumber(1));
  SetValue(app.add_option("--plan", options.plan_file, "Take the plan from a plan.json instead of searching"),
           "FILE.json");
  SetValue(app.add_option("--expect", options.expect,
                          "What the plan must keep: a file with an `expect` block, in place of the model's own; a plan "
                          "that breaks it ends with exit code 4"),
           "FILE.model|none");
}

void AddAlsoOption(CLI::App& app, TypedOptions& typed) {
  SetValue(app.add_option("--also", typed.also,
                          "Fewer ranks, for which programs are written into the same folder, too: run.sh --hosts FILE "
                          "starts the largest for which there is room, and --restarts goes on with it"),
           "N,N");
}

void AddLaunchOptions(CLI::App& app, TypedOptions& typed) {
  SetValue(app.add_option("--launch", typed.launch, "How run.sh starts the ranks (default: run.sh chooses)"),
           "mpirun|rank-table FILE.json|dynamic|local");
}

void AddProgramOptions(CLI::App& app, TypedOptions& typed) {
  CompileOptions& options = typed.options;
  SetValue(app.add_option("--steps", options.steps, "Stop training after so many steps"), "N")->check(WholeNumber(1));
  SetValue(app.add_option("--seed", options.seed, "Seed of initial values and of the order of samples"), "N")
      ->check(WholeNumber(0));
  SetValue(app.add_option("--watch", options.watch,
                          "Values whose norm, extremes and share of zeros go into metrics.jsonl, by their names in "
                          "plan.json, with * and ?; may be repeated"),
           "PATTERN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

// What a compile can do other than write a program.
void AddStageOptions(CLI::App& app, TypedOptions& typed) {
  CompileOptions& options = typed.options;
  app.add_flag("--run", options.run, "Build the program and start it on this machine");
  app.add_flag("--plan-only", options.plan_only,
               "Find the plan and print what it needs on each rank; not proven by simulation. Writes nothing, or with "
               "--out its plan.json");
  SetValue(app.add_option("--emit", typed.emit, "Print one stage and stop; graph: with --search or --plan as planned"),
           absl::StrJoin(Stages(), "|", [](std::string* text, const auto& stage) { text->append(stage.first); }));
}

void AddPageOptions(CLI::App& app, TypedOptions& typed) {
  SetValue(app.add_option("--html", typed.options.html,
                          "Write the plan as one page for a browser: verdict, model with its cuts, tree, collectives, "
                          "timeline, memory, slices, choices, other plans"),
           "FILE.html");
  SetValue(app.add_option("--trace", typed.options.trace,
                          "Write the predicted step as a timeline for Perfetto and chrome://tracing, which shows it "
                          "beside what a program measures with --profile FILE"),
           "FILE.json");
  SetValue(app.add_option("--beside", typed.options.beside,
                          "With --trace: show the measured steps of this file, too, which a program has written"),
           "FILE.json");
  SetValue(app.add_option("--log", typed.log, "List every redistribution of a step"), "reshard");
}

const char* UseOfSet(Command command) {
  return command == Command::kSweep
             ? "A model argument, a setting of the train or parallel block, or a number that a flag of the program "
               "changes, as lr; with several values, between commas, there is a run for each"
             : "A model argument, or a setting of the train or parallel block";
}

void AddReportOptions(Command command, CLI::App& app, TypedOptions& typed) {
  SetValue(app.add_option("--set", typed.sets, UseOfSet(command)),
           command == Command::kSweep ? "NAME=VALUE,VALUE" : "NAME=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  SetValue(app.add_option("--error-format", typed.error_format, "json: one object a line (default: text)"),
           "text|json");
  app.add_flag("--quiet", typed.options.quiet, "Print errors and warnings only");
}

const char* UseOfRank(Command command) {
  switch (command) {
    case Command::kCompile:
      return "With --emit program or source, or --explain time: the program of this rank";
    case Command::kRun:
    case Command::kPlan:
      return "With --explain time: what this rank computes";
    case Command::kExplain:
      return "With `time`: what this rank computes";
    case Command::kSweep:
      break;  // It has no such option.
  }
  return "";
}

const char* UseOfOut(Command command) {
  switch (command) {
    case Command::kCompile:
    case Command::kRun:
      return "Output folder (default: out/<model>)";
    case Command::kPlan:
      return "Write plan.json into this folder (default: nothing is written)";
    case Command::kSweep:
      return "Folder with a folder for each run (default: out/<model>_sweep)";
    case Command::kExplain:
      break;  // It has no such option.
  }
  return "";
}

void AddOptions(Command command, CLI::App& app, TypedOptions& typed) {
  CompileOptions& options = typed.options;
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  const bool explains = command == Command::kExplain;
  SetValue(app.add_option("MODEL", options.model, explains ? "The model file, or a diagnostic code" : "The model file")
               ->required(),
           explains ? "FILE.model|CODE" : "FILE.model");
  AddPlanOptions(app, typed);
  if (command == Command::kSweep) {
    AddLaunchOptions(app, typed);
    SetValue(app.add_option("--out", options.out, UseOfOut(command)), "FOLDER");
    AddReportOptions(command, app, typed);
    return;
  }
  AddModeOptions(app, typed);
  if (command == Command::kCompile || command == Command::kRun) {
    AddLaunchOptions(app, typed);
    AddAlsoOption(app, typed);
    AddProgramOptions(app, typed);
  }
  if (command == Command::kCompile) AddStageOptions(app, typed);
  if (explains) {
    SetValue(app.add_option(
                 "OP", typed.op,
                 "Show every choice of this op, with `time` what each kernel takes (`kernels`: as lines of JSON), with "
                 "`memory` memory against time, "
                 "with `plans` the plans that other settings give, or with `schedule` the passes of a pipeline "
                 "(default: the plan as a table)"),
             "OP");
  } else {
    SetValue(app.add_option("--out", options.out, UseOfOut(command)), "FOLDER");
    SetValue(app.add_option(
                 "--explain", options.explain,
                 "Print the plan as a table, every choice of one op, with `time` what each kernel takes (`kernels`: "
                 "as lines of JSON), with `memory` memory against time, with `plans` the plans that other settings "
                 "give, or with "
                 "`schedule` the passes of a pipeline"),
             "OP")
        ->expected(0, 1);
  }
  SetValue(app.add_option("--rank", options.rank, UseOfRank(command)), "N")->check(WholeNumber(0, kMostDevices - 1));
  AddPageOptions(app, typed);
  AddReportOptions(command, app, typed);
}

// What is wrong with the values that were typed, or an empty text; reads them into the options.
std::string ReadTyped(TypedOptions& typed) {
  CompileOptions& options = typed.options;
  if (options.model.empty()) return "MODEL is required";
  if (!typed.emit.empty()) options.emit = Stages().at(typed.emit);
  options.error_format = typed.error_format == "json" ? ErrorFormat::kJson : ErrorFormat::kText;
  options.log_redistributions = typed.log == "reshard";
  if (!typed.mode.empty()) options.mode = *ir::ParseMode(typed.mode);
  for (const std::string& set : typed.sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::StrCat("--set: expected name=value, found `", set, "`");
    }
    options.overrides.emplace_back(set.substr(0, equals), set.substr(equals + 1));
  }
  if (!typed.also.empty()) {
    if (const std::string mistake = ReadAlso(typed.also, options); !mistake.empty()) return mistake;
  }
  if (!typed.launch.empty()) {
    if (const std::string mistake = ReadLaunch(typed.launch, options); !mistake.empty()) return mistake;
  }
  return Contradiction(options);
}

}  // namespace

std::string TooManyAlso(const CompileOptions& options, int64_t devices) {
  if (options.also.empty() || options.also[0] < devices) return "";
  return absl::StrCat("--also: ", options.also[0], " is not less than the ", devices, devices == 1 ? " rank" : " ranks",
                      " of the program");
}

void DescribeOptions(Command command, CLI::App& app) {
  // The options point into it for as long as there is an app.
  AddOptions(command, app, *new TypedOptions);
}

std::variant<CompileOptions, EarlyExit> ParseCommandLine(Command command, const std::string& name,
                                                         const std::string& summary,
                                                         const std::vector<std::string>& words,
                                                         const AddMore& add_more) {
  const ErrorFormat format = FormatAskedFor(words);
  const bool starts = command == Command::kRun || command == Command::kSweep;
  const auto end = starts ? std::find(words.begin(), words.end(), "--") : words.end();
  if (LacksPlaceForTable({words.begin(), end})) return UsageError(format, kNoTable);
  TypedOptions typed;
  CLI::App app(summary, name);
  AddOptions(command, app, typed);
  add_more(app);
  if (auto exit = Parse(app, WithTableInOneWord({words.begin(), end}), format)) return *std::move(exit);
  CompileOptions& options = typed.options;
  if (end != words.end()) options.run_arguments.assign(end + 1, words.end());
  options.run |= starts;
  options.plan_only |= command == Command::kPlan || command == Command::kExplain;
  const CLI::Option* const explain = app.get_option_no_throw("--explain");
  const bool asks = explain != nullptr && explain->count() > 0 && !options.explain.has_value();
  if (command == Command::kExplain || asks) options.explain = typed.op;
  if (const std::string mistake = ReadTyped(typed); !mistake.empty()) return UsageError(format, mistake);
  return options;
}

}  // namespace cleave::tools
