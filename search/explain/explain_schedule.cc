#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "search/explain/explain.h"
#include "search/explain/table.h"

namespace cleave::search {
namespace {

constexpr size_t kHead = 9;  // "stage 12 "

// What stands for a micro-batch: its last digit in the forward pass, a letter in the backward pass.
char Sign(const PassTime& pass) {
  constexpr int64_t kDigits = 10;
  const auto digit = static_cast<char>(pass.micro_batch % kDigits);
  return static_cast<char>((pass.is_backward ? 'a' : '0') + digit);
}

}  // namespace

std::string ExplainSchedule(const PipelinePrediction& pipeline, absl::Span<const ir::StageProgram> stages) {
  Seconds end{0};
  for (const PassTime& pass : pipeline.passes) end = std::max(end, pass.end);
  const size_t columns = kColumns - kHead;
  std::vector<std::string> rows(stages.size(), std::string(columns, '.'));
  std::vector<Seconds> busy(stages.size(), Seconds(0));
  for (const PassTime& pass : pipeline.passes) {
    const auto column = [&](Seconds time) {
      return end > Seconds(0) ? static_cast<size_t>(time.value() / end.value() * static_cast<double>(columns)) : 0;
    };
    const auto stage = static_cast<size_t>(pass.stage);
    const size_t begin = std::min(column(pass.begin), columns - 1);
    const size_t last = std::min(std::max(begin + 1, column(pass.end)), columns);
    std::fill(rows[stage].begin() + static_cast<int64_t>(begin), rows[stage].begin() + static_cast<int64_t>(last),
              Sign(pass));
    busy[stage] += pass.end - pass.begin;
  }
  std::string text = absl::StrFormat(
      "passes of %d micro-batches in %s, of a step of %s; 0 to 9: forward, a to j: backward, of micro-batches 0 to 9\n"
      "and so on; .: idle, in all %.1f%%\n\n",
      ir::MicroBatches(stages.front().program), FormatSeconds(end), FormatSeconds(pipeline.whole.step),
      100 * pipeline.bubble);
  for (size_t stage = 0; stage < rows.size(); ++stage) {
    absl::StrAppendFormat(&text, "stage %-3d%s\n", stage, rows[stage]);
  }
  absl::StrAppendFormat(&text, "\n%-9s%12s%12s%12s%9s%14s%12s\n", "stage", "forward", "backward", "once", "idle",
                        "under way", "memory");
  for (size_t stage = 0; stage < rows.size(); ++stage) {
    const StageSeconds& time = pipeline.stages[stage];
    absl::StrAppendFormat(
        &text, "%-9d%12s%12s%12s%9s%14d%12s\n", stage, FormatSeconds(time.forward), FormatSeconds(time.backward),
        FormatSeconds(time.once), Share((end - busy[stage]).value(), end.value()),
        ir::MicroBatchesUnderWay(stages[stage].program), FormatBytes(stages[stage].memory.use.prediction.peak));
  }
  return text;
}

}  // namespace cleave::search
