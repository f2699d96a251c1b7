#include "tests/properties/mutations.h"

namespace cleave::tests::properties {

ir::Collective* CollectiveAt(ir::Program& program, size_t at) {
  return std::get_if<ir::Collective>(&program.steps[at].action);
}
ir::Compute* ComputeAt(ir::Program& program, size_t at) { return std::get_if<ir::Compute>(&program.steps[at].action); }
ir::HostCopy* HostCopyAt(ir::Program& program, size_t at) {
  return std::get_if<ir::HostCopy>(&program.steps[at].action);
}
ir::Slice* SliceAt(ir::Program& program, size_t at) { return std::get_if<ir::Slice>(&program.steps[at].action); }

void Erase(ir::Program& program, size_t at) { program.steps.erase(program.steps.begin() + static_cast<ptrdiff_t>(at)); }

void ReplaceReads(ir::Program& program, ir::ValueId from, ir::ValueId to, size_t from_step) {
  const auto replace = [&](ir::ValueId& value) { value = value == from ? to : value; };
  for (size_t i = from_step; i < program.steps.size(); ++i) {
    if (ir::Compute* compute = ComputeAt(program, i)) {
      for (ir::ValueId& input : compute->inputs) replace(input);
    } else if (ir::Collective* collective = CollectiveAt(program, i)) {
      for (ir::Transfer& transfer : collective->transfers) replace(transfer.input);
    } else if (ir::Slice* slice = SliceAt(program, i)) {
      replace(slice->input);
    } else if (ir::HostCopy* copy = HostCopyAt(program, i)) {
      replace(copy->input);
    }
  }
  if (program.loss.has_value()) replace(*program.loss);
  for (ir::ProgramMetric& metric : program.metrics) replace(metric.value);
  for (ir::ProgramUpdate& update : program.updates) replace(update.value);
}

std::vector<Mutation> Mutations() {
  std::vector<Mutation> all = MovementMutations();
  for (const std::vector<Mutation>& more : {ComputeMutations(), ResultMutations(), MicroBatchMutations()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace cleave::tests::properties
