#include "ir/program/memory/workspace.h"

#include <algorithm>

#include "base/match/match.h"
#include "ir/graph/ops/need.h"
#include "ir/graph/ops/ops.h"
#include "ir/program/memory/local_size.h"

namespace cleave::ir {
namespace {

// Whether the pieces along `dimension` lie one after another: all dimensions before it have one element.
bool IsContiguous(const Program& program, ValueId whole, int dimension) {
  const Shape shape = LargestLocalShape(program, whole);
  return std::all_of(shape.begin(), shape.begin() + dimension, [](int64_t size) { return size == 1; });
}

Need NeedOf(const Program& program, const Compute& compute) {
  const OpDefinition& op = DefinitionOf(compute.kind);
  if (op.need == nullptr) return {};
  const auto local = [&](ValueId value) {
    return TensorType{program.value(value).type.dtype, LargestLocalShape(program, value)};
  };
  std::vector<TensorType> inputs;
  for (const ValueId input : compute.inputs) inputs.push_back(local(input));
  return op.need(inputs, local(compute.output), compute.attributes);
}

Need NeedOf(const Program& program, const Collective& collective) {
  Need need;
  if (program.mesh.Size(collective.axes) == 1) return need;
  Bytes inputs, outputs;
  for (const Transfer& transfer : collective.transfers) {
    inputs += LocalBytes(program, transfer.input);
    outputs += LocalBytes(program, transfer.output);
  }
  const Transfer& first = collective.transfers.front();
  const bool merged = collective.transfers.size() > 1;
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kPermute:
    case CollectiveKind::kSendReceive:  // Read from the tensors and written to them directly.
    case CollectiveKind::kNeighborExchangeV2:
      return need;
    case CollectiveKind::kAllGather:
      if (merged) need.send = inputs;
      if (merged || !IsContiguous(program, first.output, first.from_dimension)) need.receive = outputs;
      return need;
    case CollectiveKind::kReduceScatter:
      if (merged || !IsContiguous(program, first.input, first.to_dimension)) need.send = inputs;
      if (merged) need.receive = outputs;
      return need;
    case CollectiveKind::kAllToAll:
      return {.send = inputs, .receive = outputs};
    case CollectiveKind::kNeighborExchange:
      if (collective.messages.has_value()) return need;
      // A rank with neighbours on both sides sends as much as it gets.
      return {.send = CollectiveBytes(program, collective), .receive = CollectiveBytes(program, collective)};
  }
  return need;
}

}  // namespace

Bytes WorkspaceOf(const Program& program) {
  Need most;
  for (const Step& step : program.steps) {
    Match(
        step.action, [&](const Compute& compute) { most.Include(NeedOf(program, compute)); },
        [&](const Collective& collective) { most.Include(NeedOf(program, collective)); }, [](const Slice&) {},
        [](const View&) {}, [](const Glance&) {});
  }
  return most.total();
}

}  // namespace cleave::ir
