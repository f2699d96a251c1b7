#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check/check.h"
#include "search/explain/explain.h"
#include "search/explain/table.h"

namespace cleave::search {
namespace {

constexpr size_t kHead = 9;  // "stage 12 "

// What stands for a micro-batch: its last digit in the forward pass, a letter in the others.
char Sign(const PassTime& pass) {
  constexpr int64_t kDigits = 10;
  const auto digit = static_cast<char>(pass.micro_batch % kDigits);
  switch (pass.kind) {
    case ir::PassKind::kForward:
      return static_cast<char>('0' + digit);
    case ir::PassKind::kBackward:
      return static_cast<char>('a' + digit);
    case ir::PassKind::kWeights:
      return static_cast<char>('A' + digit);
  }
  CLEAVE_UNREACHABLE();
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
  const bool splits = std::any_of(pipeline.stages.begin(), pipeline.stages.end(),
                                  [](const StageSeconds& time) { return time.weights > Seconds(0); });
  std::string text = absl::StrFormat(
      "passes of %d micro-batches in %s, of a step of %s; 0 to 9: forward, a to j: backward, of micro-batches 0 to 9\n"
      "and so on; %s.: idle, in all %.1f%%\n\n",
      ir::MicroBatches(stages.front().program), FormatSeconds(end), FormatSeconds(pipeline.whole.step),
      splits ? "A to J: gradients of weights; " : "", 100 * pipeline.bubble);
  for (size_t stage = 0; stage < rows.size(); ++stage) {
    absl::StrAppendFormat(&text, "stage %-3d%s\n", stage, rows[stage]);
  }
  const auto weights = [&](const std::string& column) { return splits ? absl::StrFormat("%12s", column) : ""; };
  absl::StrAppendFormat(&text, "\n%-9s%12s%12s%s%12s%9s%14s%12s\n", "stage", "forward", "backward", weights("weights"),
                        "once", "idle", "under way", "memory");
  for (size_t stage = 0; stage < rows.size(); ++stage) {
    const StageSeconds& time = pipeline.stages[stage];
    absl::StrAppendFormat(
        &text, "%-9d%12s%12s%s%12s%9s%14d%12s\n", stage, FormatSeconds(time.forward), FormatSeconds(time.backward),
        weights(FormatSeconds(time.weights)), FormatSeconds(time.once), Share((end - busy[stage]).value(), end.value()),
        ir::MicroBatchesUnderWay(stages[stage].program), FormatBytes(stages[stage].memory.use.prediction.peak));
  }
  return text;
}

}  // namespace cleave::search
