#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tests/properties/mutations.h"

namespace cleave::tests::properties {
namespace {

// The step's collective, if it puts together what micro-batches make.
ir::Collective* SumOverTimeAt(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  return collective != nullptr && ir::IsSumOverTime(program, *collective) ? collective : nullptr;
}

// Readers take the part of a micro-batch.
bool SumOverTimeLost(ir::Program& program, size_t at) {
  const ir::Collective* sum = SumOverTimeAt(program, at);
  if (sum == nullptr) return false;
  const ir::Transfer transfer = sum->transfers.front();
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
  ReplaceReads(program, transfer.output, transfer.input);
  return true;
}

// Each micro-batch adds what it has added before.
bool PartAddedTwice(ir::Program& program, size_t at) {
  if (SumOverTimeAt(program, at) == nullptr) return false;
  ir::Step again = program.steps[at];
  ir::Transfer& transfer = std::get<ir::Collective>(again.action).transfers.front();
  ir::Value total = program.value(transfer.output);
  const ir::ValueId first = transfer.output;
  total.name += ".again";
  again.name += ".again";
  transfer = {.input = first, .output = program.values.push_back(std::move(total))};
  ReplaceReads(program, first, transfer.output, at + 1);
  program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(again));
  return true;
}

// What a micro-batch does is done once, or what is done once for each of them.
bool RunsAtAnotherTime(ir::Program& program, size_t at) {
  if (!program.time.has_value()) return false;
  ir::Step& step = program.steps[at];
  step.repeat = step.repeat == ir::Repeat::kEach ? ir::Repeat::kOnceAfter : ir::Repeat::kEach;
  return true;
}

bool RemoveTime(const ir::Program& program, ir::AxisList& axes) {
  const auto end = std::remove(axes.begin(), axes.end(), *program.time);
  const bool had_it = end != axes.end();
  axes.erase(end, axes.end());
  return had_it;
}

// A step takes the samples of all micro-batches for those of each, and says so.
bool TakesAllSamples(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr || !program.time.has_value()) return false;
  bool changed = false;
  for (ir::AxisList& axes : compute->strategy.cuts) changed |= RemoveTime(program, axes);
  for (ir::AxisList& axes : program.values[compute->output].layout.dimensions) RemoveTime(program, axes);
  return changed;
}

// A slice of samples keeps those of all micro-batches.
bool SliceOfSamplesSkipped(ir::Program& program, size_t at) {
  ir::Slice* slice = SliceAt(program, at);
  if (slice == nullptr || !program.time.has_value()) return false;
  bool changed = false;
  for (ir::AxisList& axes : program.values[slice->output].layout.dimensions) {
    changed |= RemoveTime(program, axes);
  }
  return changed;
}

// Ranks divide the batch, and micro-batches what each rank has.
bool RanksCutBeforeMicroBatches(ir::Program& program, size_t at) {
  ir::Compute* compute = ComputeAt(program, at);
  if (compute == nullptr || !program.time.has_value()) return false;
  for (ir::AxisList& axes : compute->strategy.cuts) {
    if (axes.size() < 2 || axes.front() != *program.time) continue;
    std::rotate(axes.begin(), axes.begin() + 1, axes.end());
    return true;
  }
  return false;
}

}  // namespace

std::vector<Mutation> MicroBatchMutations() {
  return {
      {"a sum over micro-batches lost", SumOverTimeLost},
      {"a part of micro-batches added twice", PartAddedTwice},
      {"a step run at another time", RunsAtAnotherTime},
      {"a step that takes the samples of all micro-batches", TakesAllSamples},
      {"a slice that keeps the samples of all micro-batches", SliceOfSamplesSkipped},
      {"samples cut by ranks before micro-batches", RanksCutBeforeMicroBatches},
  };
}

}  // namespace cleave::tests::properties
