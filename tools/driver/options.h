// The command lines of the commands that compile a model.
#ifndef CLEAVE_TOOLS_DRIVER_OPTIONS_H_
#define CLEAVE_TOOLS_DRIVER_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph/training/training.h"
#include "tools/command_line/parse.h"
#include "tools/command_line/usage.h"

namespace cleave::tools {

enum class EmitStage { kAst, kGraph, kPlan, kProgram, kSource };

// Settings that are absent are taken from the model's `parallel` and `train` blocks.
struct CompileOptions {
  std::string model;  // Path of the .model file.
  std::optional<int64_t> devices;
  std::vector<int64_t> also;          // Smaller numbers of ranks for which there are programs, too, the most first.
  std::string cluster;                // Preset or file; empty: that of the plan file, or else the target's.
  std::optional<std::string> search;  // "sapp", "data_parallel", …
  std::string target = "cpu";
  ir::Mode mode = ir::Mode::kTrain;
  std::vector<std::string> outputs;  // Of a program that predicts: names of values; of one that generates: the logits.
  std::string tokenizer;             // Of a program that generates: a tokenizer.json; empty: that of the data.
  int64_t chunk = 1;                 // Of a program that generates: the places that a step computes.
  std::string out;  // Empty: out/<stem of the model file>, with the mode behind it if it does not train, or with
                    // plan_only none.
  bool run = false;
  bool build_only = false;                 // With run: the program is built and not started.
  std::vector<std::string> run_arguments;  // Of run.sh.
  std::string launch;                      // "mpirun", "rank-table", "dynamic" or "local"; empty: run.sh decides.
  std::string rank_table;                  // With rank-table: the path of the table.
  std::optional<int64_t> steps;
  std::optional<int64_t> seed;
  bool plan_only = false;
  std::string plan_file;  // Empty: search.
  std::string expect;     // The file of what the plan must keep, or "none"; empty: the model's own `expect` block.
  std::optional<EmitStage> emit;
  std::optional<int> rank;
  bool log_redistributions = false;    // --log reshard
  std::vector<std::string> watch;      // Patterns of the names of values.
  std::optional<std::string> html;     // The file of the page with the plan (tools/page).
  std::optional<std::string> trace;    // The file of the predicted step as a timeline (tools/trace).
  std::string beside;                  // With `trace`: the timeline of measured steps that it shows, too.
  std::optional<std::string> explain;  // A page ("time", …), an op, "op:" and an op, or empty for the whole plan.
  std::vector<std::pair<std::string, std::string>> overrides;
  ErrorFormat error_format = ErrorFormat::kText;
  bool quiet = false;
};

// What is done with a model: a command has the options that make sense with it.
enum class Command {
  kCompile,  // Writes a program, or what the options ask for.
  kRun,      // Writes, builds and starts a program. What follows `--` goes to its run.sh.
  kPlan,     // --plan-only
  kExplain,  // --plan-only --explain, with the op as the second argument.
  kSweep,    // Runs with the product of settings (tools/sweep). What follows `--` goes to run.sh.
};

// Adds options of its own to a command.
using AddMore = std::function<void(CLI::App& app)>;

// What is wrong with `also` of a program for so many ranks, or an empty text.
std::string TooManyAlso(const CompileOptions& options, int64_t devices);

// Adds the options and arguments of a command, to be shown; they are not to be parsed.
void DescribeOptions(Command command, CLI::App& app);

// Parses the words that follow the name of the command. `name` and `summary` are shown in its help.
std::variant<CompileOptions, EarlyExit> ParseCommandLine(
    Command command, const std::string& name, const std::string& summary, const std::vector<std::string>& words,
    const AddMore& add_more = [](CLI::App&) {});

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_OPTIONS_H_
