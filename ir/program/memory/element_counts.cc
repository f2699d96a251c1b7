#include "ir/program/memory/element_counts.h"

#include <variant>

#include "ir/program/schedule/buffers.h"

namespace cleave::ir {
namespace {

// What the runtime counts for one tensor of a merged message: all elements that the group holds of it together.
int64_t ElementsInMessage(const Program& program, const Collective& collective, const Transfer& transfer) {
  const int64_t ranks = program.mesh.Size(collective.axes);
  // Equal parts, each with a place for the largest piece.
  if (collective.kind == CollectiveKind::kAllGather) {
    return ElementCount(LargestLocalShape(program, transfer.input)) * ranks;
  }
  if (collective.kind == CollectiveKind::kReduceScatter) {
    return ElementCount(LargestLocalShape(program, transfer.output)) * ranks;
  }
  const int64_t elements = ElementCount(LargestLocalShape(program, transfer.input));
  if (collective.kind != CollectiveKind::kAllReduce) return elements;
  // The parts of a merged all-reduce lie one after another, each aligned; the gaps are reduced with them.
  const DType dtype = program.value(transfer.input).type.dtype;
  const int64_t aligned = BufferPlan::kAlignment / ElementSize(dtype).value();
  return (elements + aligned - 1) / aligned * aligned;
}

LargeCount MessageCount(const Program& program, const Collective& collective) {
  LargeCount message{.value = {}, .tensors = static_cast<int>(collective.transfers.size())};
  int64_t largest = -1;
  for (const Transfer& transfer : collective.transfers) {
    const int64_t elements = ElementsInMessage(program, collective, transfer);
    message.elements += elements;
    if (elements <= largest) continue;
    largest = elements;
    message.value = transfer.output;
  }
  return message;
}

}  // namespace

std::vector<LargeCount> LargeCounts(const Program& program) {
  std::vector<LargeCount> counts;
  for (const Step& step : program.steps) {
    for (const ValueId value : Writes(step)) {
      const int64_t elements = ElementCount(LargestLocalShape(program, value));
      if (elements > kMaxRankElements) counts.push_back({.value = value, .elements = elements});
    }
    const auto* collective = std::get_if<Collective>(&step.action);
    if (collective == nullptr || collective->transfers.size() == 1) continue;
    const LargeCount message = MessageCount(program, *collective);
    if (message.elements > kMaxRankElements) counts.push_back(message);
  }
  return counts;
}

}  // namespace cleave::ir
