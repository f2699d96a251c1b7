#include "ir/partition/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave {
namespace {

// All-reduces that may become one step between `after` (the last producer) and `before` (the first reader).
struct Batch {
  std::vector<size_t> steps;
  size_t after = 0;
  size_t before = 0;
};

const Collective* MergeableAt(const Program& program, size_t step) {
  const Phase phase = program.steps[step].phase;
  if (phase != Phase::kBackward && phase != Phase::kUpdate) return nullptr;
  const auto* collective = std::get_if<Collective>(&program.steps[step].action);
  return collective != nullptr && collective->kind == CollectiveKind::kAllReduce ? collective : nullptr;
}

bool SameKind(const Program& program, const Collective& a, const Collective& b) {
  return a.axes == b.axes && a.reduction == b.reduction &&
         program.value(a.transfers.front().input).type.dtype == program.value(b.transfers.front().input).type.dtype;
}

// For every value the step that writes it and the first that reads it; one past the last step where there is none.
struct Uses {
  IdVector<ValueId, size_t> writer;
  IdVector<ValueId, size_t> first_reader;
};

Uses UsesOf(const Program& program) {
  const size_t none = program.steps.size();
  Uses uses{.writer = IdVector<ValueId, size_t>(program.values.size(), none),
            .first_reader = IdVector<ValueId, size_t>(program.values.size(), none)};
  for (size_t step = program.steps.size(); step-- > 0;) {
    for (ValueId write : Writes(program.steps[step])) uses.writer[write] = step;
    for (ValueId read : Reads(program.steps[step])) uses.first_reader[read] = step;
  }
  return uses;
}

std::vector<Batch> FindBatches(const Program& program) {
  const Uses uses = UsesOf(program);
  std::vector<Batch> batches;
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const Collective* collective = MergeableAt(program, step);
    if (collective == nullptr) continue;
    size_t after = 0, before = program.steps.size();
    for (const Transfer& transfer : collective->transfers) {
      after = std::max(after, uses.writer[transfer.input]);
      before = std::min(before, uses.first_reader[transfer.output]);
    }
    const auto fits = [&](const Batch& batch) {
      return SameKind(program, *MergeableAt(program, batch.steps.front()), *collective) &&
             std::max(batch.after, after) < std::min(batch.before, before);
    };
    const auto batch = std::find_if(batches.begin(), batches.end(), fits);
    if (batch == batches.end()) {
      batches.push_back({.steps = {step}, .after = after, .before = before});
    } else {
      batch->steps.push_back(step);
      batch->after = std::max(batch->after, after);
      batch->before = std::min(batch->before, before);
    }
  }
  return batches;
}

// The steps of `batch` as one.
Step Merged(const Program& program, const Batch& batch) {
  Step merged = program.steps[batch.steps.front()];
  Collective& collective = std::get<Collective>(merged.action);
  for (size_t i = 1; i < batch.steps.size(); ++i) {
    const Collective& other = std::get<Collective>(program.steps[batch.steps[i]].action);
    collective.transfers.insert(collective.transfers.end(), other.transfers.begin(), other.transfers.end());
  }
  absl::StrAppend(&collective.why, " and ", collective.transfers.size() - 1, " more");
  merged.phase = program.steps[batch.after].phase;
  return merged;
}

}  // namespace

bool MergeAllReduces(Program& program) {
  std::vector<std::vector<Step>> inserted_after(program.steps.size());
  std::vector<char> removed(program.steps.size(), false);
  bool changed = false;
  for (const Batch& batch : FindBatches(program)) {
    if (batch.steps.size() < 2) continue;
    inserted_after[batch.after].push_back(Merged(program, batch));
    for (size_t step : batch.steps) removed[step] = true;
    changed = true;
  }
  std::vector<Step> steps;
  for (size_t step = 0; step < program.steps.size(); ++step) {
    if (!removed[step]) steps.push_back(std::move(program.steps[step]));
    for (Step& merged : inserted_after[step]) steps.push_back(std::move(merged));
  }
  program.steps = std::move(steps);
  return changed;
}

bool RemoveUnreadMoves(Program& program) {
  IdVector<ValueId, char> read(program.values.size(), false);
  if (program.loss.has_value()) read[*program.loss] = true;
  for (const ProgramMetric& metric : program.metrics) read[metric.value] = true;
  for (const ProgramUpdate& update : program.updates) read[update.value] = true;
  std::vector<Step> kept;
  for (size_t step = program.steps.size(); step-- > 0;) {
    const std::vector<ValueId> writes = Writes(program.steps[step]);
    const bool is_read = std::any_of(writes.begin(), writes.end(), [&](ValueId write) { return read[write]; });
    if (!is_read && !std::holds_alternative<Compute>(program.steps[step].action)) continue;
    for (ValueId value : Reads(program.steps[step])) read[value] = true;
    kept.push_back(std::move(program.steps[step]));
  }
  const bool changed = kept.size() != program.steps.size();
  program.steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  return changed;
}

}  // namespace cleave
