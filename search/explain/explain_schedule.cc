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

std::string ExplainSchedule(const PipelinePrediction& pipeline, absl::Span<const ir::PartProgram> parts) {
  const ir::Timetable timetable = ir::TimetableOf(parts.front().program);
  const bool has_several = timetable.stages() > timetable.parts();
  const std::string who = has_several ? "ranks" : "stage";
  Seconds end{0};
  for (const PassTime& pass : pipeline.passes) end = std::max(end, pass.end);
  const size_t columns = kColumns - kHead;
  std::vector<std::string> rows(parts.size(), std::string(columns, '.'));
  std::vector<Seconds> busy(parts.size(), Seconds(0));
  for (const PassTime& pass : pipeline.passes) {
    const auto column = [&](Seconds time) {
      return end > Seconds(0) ? static_cast<size_t>(time.value() / end.value() * static_cast<double>(columns)) : 0;
    };
    const auto part = static_cast<size_t>(timetable.PartOf(pass.stage));
    const size_t begin = std::min(column(pass.begin), columns - 1);
    const size_t last = std::min(std::max(begin + 1, column(pass.end)), columns);
    std::fill(rows[part].begin() + static_cast<int64_t>(begin), rows[part].begin() + static_cast<int64_t>(last),
              Sign(pass));
    busy[part] += pass.end - pass.begin;
  }
  const bool splits = std::any_of(pipeline.stages.begin(), pipeline.stages.end(),
                                  [](const StageSeconds& time) { return time.weights > Seconds(0); });
  std::string text = absl::StrFormat(
      "passes of %d micro-batches in %s, of a step of %s; 0 to 9: forward, a to j: backward, of micro-batches 0 to 9\n"
      "and so on; %s.: idle, in all %.1f%%\n",
      ir::MicroBatches(parts.front().program), FormatSeconds(end), FormatSeconds(pipeline.whole.step),
      splits ? "A to J: gradients of weights; " : "", 100 * pipeline.bubble);
  if (has_several) {
    absl::StrAppend(&text, "ranks p have the stages p, p + ", timetable.parts(), " and so on\n");
  }
  absl::StrAppend(&text, "\n");
  for (size_t part = 0; part < rows.size(); ++part) {
    absl::StrAppendFormat(&text, "%s %-3d%s\n", who, part, rows[part]);
  }
  const auto weights = [&](const std::string& column) { return splits ? absl::StrFormat("%12s", column) : ""; };
  absl::StrAppendFormat(&text, "\n%-9s%12s%12s%s%12s%9s%14s%12s\n", "stage", "forward", "backward", weights("weights"),
                        "once", "idle", "under way", "memory");
  for (int stage = 0; stage < timetable.stages(); ++stage) {
    const StageSeconds& time = pipeline.stages[static_cast<size_t>(stage)];
    absl::StrAppendFormat(&text, "%-9d%12s%12s%s", stage, FormatSeconds(time.forward), FormatSeconds(time.backward),
                          weights(FormatSeconds(time.weights)));
    // The rest is of all stages of these ranks.
    const auto part = static_cast<size_t>(timetable.PartOf(stage));
    if (stage < timetable.parts()) {
      absl::StrAppendFormat(
          &text, "%12s%9s%14d%12s", FormatSeconds(pipeline.once[part]), Share((end - busy[part]).value(), end.value()),
          ir::MicroBatchesUnderWay(parts[part].program), FormatBytes(parts[part].memory.use.prediction.peak));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace cleave::search
