// Private to tools/sweep: what the runs of a sweep have written, and a table of it.
#ifndef CLEAVE_TOOLS_SWEEP_RESULTS_H_
#define CLEAVE_TOOLS_SWEEP_RESULTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "tools/sweep/grid.h"

namespace cleave::tools {

struct RunResult {
  std::optional<int> exit_code;           // Of run.json; nullopt: it was not written.
  int64_t steps = 0;                      // The last one.
  double median_step_seconds = 0;         // 0: not known.
  std::vector<double> losses;             // Of the steps; NaN for one that is not finite.
  std::optional<double> best_validation;  // The least loss of the validation part.
};

// Reads `run.json` and `metrics.jsonl`, as far as they are there.
RunResult ReadResult(const std::string& folder);

// The exit code of a program whose loss is not finite.
inline constexpr int kNotFinite = static_cast<int>(runtime::ExitCode::kNotFinite);

// Whether another attempt would end as this one: it is done, or its loss is not finite.
bool IsFinal(const RunResult& result);

struct TableRow {
  std::vector<std::string> values;
  RunResult result;
  std::string status;  // "done", "failed (exit code 5)"
};

// A line for each run: settings, steps, the last and the least loss, steps a second, status, and a curve of the loss.
std::string TableText(const std::vector<std::string>& names, const std::vector<TableRow>& rows);

// The same as JSON, one object a line.
std::string ResultLines(const std::vector<std::string>& names, const std::vector<std::string>& folders,
                        const std::vector<TableRow>& rows);

// The losses in `width` signs, from `low` to `high`.
std::string Curve(const std::vector<double>& losses, size_t width, double low, double high);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SWEEP_RESULTS_H_
