#include "tests/properties/mutations.h"

namespace cleave::properties {

Collective* CollectiveAt(Program& program, size_t at) { return std::get_if<Collective>(&program.steps[at].action); }
Compute* ComputeAt(Program& program, size_t at) { return std::get_if<Compute>(&program.steps[at].action); }
Slice* SliceAt(Program& program, size_t at) { return std::get_if<Slice>(&program.steps[at].action); }

void ReplaceReads(Program& program, ValueId from, ValueId to, size_t from_step) {
  const auto replace = [&](ValueId& value) { value = value == from ? to : value; };
  for (size_t i = from_step; i < program.steps.size(); ++i) {
    if (Compute* compute = ComputeAt(program, i)) {
      for (ValueId& input : compute->inputs) replace(input);
    } else if (Collective* collective = CollectiveAt(program, i)) {
      for (Transfer& transfer : collective->transfers) replace(transfer.input);
    } else if (Slice* slice = SliceAt(program, i)) {
      replace(slice->input);
    }
  }
  if (program.loss.has_value()) replace(*program.loss);
  for (ProgramMetric& metric : program.metrics) replace(metric.value);
  for (ProgramUpdate& update : program.updates) replace(update.value);
}

std::vector<Mutation> Mutations() {
  std::vector<Mutation> all = MovementMutations();
  for (const std::vector<Mutation>& more : {ComputeMutations(), ResultMutations()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace cleave::properties
