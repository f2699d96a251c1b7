// The command line of //tools:compile.
#ifndef CLEAVE_TOOLS_DRIVER_OPTIONS_H_
#define CLEAVE_TOOLS_DRIVER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/driver/exit_code.h"

namespace cleave::tools {

enum class EmitStage { kAst, kGraph, kPlan, kProgram, kSource };
enum class ErrorFormat { kText, kJson };

// Settings that are absent are taken from the model's `parallel` and `train` blocks.
struct CompileOptions {
  std::string model;  // Path of the .model file.
  std::optional<int64_t> devices;
  std::string cluster;                // Preset or file; empty: that of the plan file, or else the target's.
  std::optional<std::string> search;  // "sapp", "data_parallel", …
  std::string target = "cpu";
  std::string out;  // Empty: out/<stem of the model file>.
  bool run = false;
  std::string launch;      // "mpirun", "rank-table", "dynamic" or "local"; empty: run.sh decides.
  std::string rank_table;  // With rank-table: the path of the table.
  std::optional<int64_t> steps;
  std::optional<int64_t> seed;
  bool plan_only = false;
  std::string plan_file;  // Empty: search.
  std::optional<EmitStage> emit;
  std::optional<int> rank;
  bool log_redistributions = false;    // --log reshard
  std::vector<std::string> watch;      // Patterns of the names of values.
  std::optional<std::string> explain;  // An op, or empty for the whole plan.
  std::vector<std::pair<std::string, std::string>> overrides;
  ErrorFormat error_format = ErrorFormat::kText;
  bool quiet = false;
};

// A command line that asks for something other than compiling: print `text` (to standard error unless `code` is kDone)
// and exit.
struct EarlyExit {
  ExitCode code = ExitCode::kUsage;
  std::string text;
};

std::variant<CompileOptions, EarlyExit> ParseCommandLine(int argc, const char* const* argv);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_OPTIONS_H_
