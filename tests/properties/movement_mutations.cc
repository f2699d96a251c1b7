#include <algorithm>
#include <utility>

#include "tests/properties/mutations.h"

namespace cleave::tests::properties {
namespace {

bool Reduces(const ir::Collective& collective) {
  return collective.kind == ir::CollectiveKind::kAllReduce || collective.kind == ir::CollectiveKind::kReduceScatter;
}

bool Drop(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  const std::vector<ir::Transfer> transfers = collective->transfers;
  Erase(program, at);
  for (const ir::Transfer& transfer : transfers) ReplaceReads(program, transfer.output, transfer.input);
  return true;
}

// The strongest form of the mistake: the value's layout is wrong as well.
bool DropAndLie(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  for (const ir::Transfer& transfer : collective->transfers) {
    program.values[transfer.input].layout = program.values[transfer.output].layout;
  }
  return Drop(program, at);
}

// The movement runs, but all readers use its input.
bool Ignore(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  for (const ir::Transfer& transfer : std::vector<ir::Transfer>(collective->transfers)) {
    ReplaceReads(program, transfer.output, transfer.input, at + 1);
  }
  return true;
}

bool IgnoreAndLie(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || !Reduces(*collective)) return false;
  for (const ir::Transfer& transfer : std::vector<ir::Transfer>(collective->transfers)) {
    program.values[transfer.input].layout.partial.clear();
    ReplaceReads(program, transfer.output, transfer.input, at + 1);
  }
  return true;
}

// A value that has been reduced is reduced again.
bool ReduceTwice(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != ir::CollectiveKind::kAllReduce) return false;
  ir::Step again = program.steps[at];
  for (ir::Transfer& transfer : std::get<ir::Collective>(again.action).transfers) {
    ir::Value value = program.values[transfer.output];
    value.name += ".again";
    const ir::ValueId first = transfer.output;
    transfer = {.input = first, .output = program.values.push_back(std::move(value))};
    ReplaceReads(program, first, transfer.output, at + 1);
  }
  program.steps.insert(program.steps.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(again));
  return true;
}

bool WrongAxis(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  for (ir::AxisId axis : program.mesh.AxisIds()) {
    if (std::find(collective->axes.begin(), collective->axes.end(), axis) != collective->axes.end()) continue;
    collective->axes.front() = axis;
    return true;
  }
  return false;
}

bool AxisTooFew(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->axes.size() < 2) return false;
  collective->axes.pop_back();
  return true;
}

bool AxisTooMany(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  for (ir::AxisId axis : program.mesh.AxisIds()) {
    if (std::find(collective->axes.begin(), collective->axes.end(), axis) != collective->axes.end()) continue;
    collective->axes.push_back(axis);
    return true;
  }
  return false;
}

// Puts group members into another order, which makes no difference for an all_reduce.
bool AxesReversed(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->axes.size() < 2) return false;
  std::reverse(collective->axes.begin(), collective->axes.end());
  return true;
}

bool OtherReduction(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || !Reduces(*collective)) return false;
  collective->reduction = collective->reduction == ir::Reduction::kMax ? ir::Reduction::kSum : ir::Reduction::kMax;
  return true;
}

bool OtherReductionAndLie(ir::Program& program, size_t at) {
  if (!OtherReduction(program, at)) return false;
  const ir::Collective& collective = *CollectiveAt(program, at);
  for (const ir::Transfer& transfer : collective.transfers) {
    for (ir::PartialAxis& partial : program.values[transfer.input].layout.partial)
      partial.reduction = collective.reduction;
  }
  return true;
}

bool OtherDimension(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  ir::Transfer& transfer = collective->transfers.front();
  const int rank = program.value(transfer.input).type.rank();
  int& dimension = transfer.to_dimension >= 0 ? transfer.to_dimension : transfer.from_dimension;
  if (rank < 2 || dimension < 0) return false;
  dimension = (dimension + 1) % rank;
  return true;
}

bool DimensionsExchanged(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != ir::CollectiveKind::kAllToAll) return false;
  std::swap(collective->transfers.front().from_dimension, collective->transfers.front().to_dimension);
  return true;
}

template <ir::CollectiveKind from, ir::CollectiveKind to>
bool InsteadOf(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != from) return false;
  collective->kind = to;
  return true;
}

// A permute sends each piece to the rank of another order of the axes.
bool PermuteElsewhere(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != ir::CollectiveKind::kPermute) return false;
  ir::Layout& layout = program.values[collective->transfers.front().output].layout;
  layout.dimensions = program.value(collective->transfers.front().input).layout.dimensions;
  return true;
}

bool TransferOutputsExchanged(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  std::vector<ir::Transfer>& transfers = collective->transfers;
  for (size_t i = 1; i < transfers.size(); ++i) {
    if (program.value(transfers[i].output).type != program.value(transfers[0].output).type) continue;
    std::swap(transfers[i].output, transfers[0].output);
    return true;
  }
  return false;
}

bool TransferLost(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->transfers.size() < 2) return false;
  collective->transfers.pop_back();
  return true;
}

bool TransferRepeated(ir::Program& program, size_t at) {
  ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr) return false;
  collective->transfers.push_back(collective->transfers.front());
  return true;
}

// Exchanges the tensors of two collectives of one kind.
bool CollectiveInputsExchanged(ir::Program& program, size_t at) {
  ir::Collective* first = CollectiveAt(program, at);
  for (size_t other = at + 1; first != nullptr && other < program.steps.size(); ++other) {
    ir::Collective* second = CollectiveAt(program, other);
    if (second == nullptr || second->kind != first->kind) continue;
    ir::Transfer& a = first->transfers.front();
    ir::Transfer& b = second->transfers.front();
    if (a.input == b.input || program.value(a.input).type != program.value(b.input).type) continue;
    std::swap(a.input, b.input);
    return true;
  }
  return false;
}

// Moves the windows of an exchange one element too far on one side.
template <int side>
bool HaloElsewhere(ir::Program& program, size_t at) {
  const ir::Collective* collective = CollectiveAt(program, at);
  if (collective == nullptr || collective->kind != ir::CollectiveKind::kNeighborExchange) return false;
  ir::Window& window = program.values[collective->transfers.front().output].layout.windows.front().window;
  (side == 0 ? window.first : window.last) += window.denominator;
  return true;
}

// Takes the piece of another axis of the same size: the shape is right, the elements are wrong.
bool SliceOfAnotherAxis(ir::Program& program, size_t at) {
  const ir::Slice* slice = SliceAt(program, at);
  if (slice == nullptr) return false;
  for (ir::AxisList& axes : program.values[slice->output].layout.dimensions) {
    for (ir::AxisId& axis : axes) {
      for (ir::AxisId other : program.mesh.AxisIds()) {
        if (other == axis || program.mesh.axis(other).size != program.mesh.axis(axis).size) continue;
        axis = other;
        return true;
      }
    }
  }
  return false;
}

bool SliceInAnotherDimension(ir::Program& program, size_t at) {
  const ir::Slice* slice = SliceAt(program, at);
  if (slice == nullptr || program.value(slice->output).type.rank() < 2) return false;
  std::vector<ir::AxisList>& dimensions = program.values[slice->output].layout.dimensions;
  std::rotate(dimensions.begin(), dimensions.begin() + 1, dimensions.end());
  return dimensions.front() != dimensions.back();
}

bool SliceAxesReversed(ir::Program& program, size_t at) {
  const ir::Slice* slice = SliceAt(program, at);
  if (slice == nullptr) return false;
  for (ir::AxisList& axes : program.values[slice->output].layout.dimensions) {
    if (axes.size() < 2) continue;
    std::reverse(axes.begin(), axes.end());
    return true;
  }
  return false;
}

bool DropSlice(ir::Program& program, size_t at) {
  const ir::Slice* slice = SliceAt(program, at);
  if (slice == nullptr) return false;
  const ir::Slice dropped = *slice;
  Erase(program, at);
  ReplaceReads(program, dropped.output, dropped.input);
  return true;
}

bool DropSliceAndLie(ir::Program& program, size_t at) {
  const ir::Slice* slice = SliceAt(program, at);
  if (slice == nullptr) return false;
  program.values[slice->input].layout = program.values[slice->output].layout;
  return DropSlice(program, at);
}

}  // namespace

std::vector<Mutation> MovementMutations() {
  return {
      {"a collective dropped", Drop},
      {"a collective dropped, its input said to lie as its output", DropAndLie},
      {"a collective runs, its input is read", Ignore},
      {"a reduction runs, its input is read and said to be whole", IgnoreAndLie},
      {"reduced twice", ReduceTwice},
      {"a wrong axis", WrongAxis},
      {"an axis too few", AxisTooFew},
      {"an axis too many", AxisTooMany},
      {"axes in another order", AxesReversed},
      {"another reduction", OtherReduction},
      {"another reduction, in the layout as well", OtherReductionAndLie},
      {"another dimension", OtherDimension},
      {"from and to dimension exchanged", DimensionsExchanged},
      {"all_gather instead of all_to_all", InsteadOf<ir::CollectiveKind::kAllToAll, ir::CollectiveKind::kAllGather>},
      {"all_to_all instead of all_gather", InsteadOf<ir::CollectiveKind::kAllGather, ir::CollectiveKind::kAllToAll>},
      {"all_reduce instead of reduce_scatter",
       InsteadOf<ir::CollectiveKind::kReduceScatter, ir::CollectiveKind::kAllReduce>},
      {"reduce_scatter instead of all_reduce",
       InsteadOf<ir::CollectiveKind::kAllReduce, ir::CollectiveKind::kReduceScatter>},
      {"broadcast instead of all_reduce", InsteadOf<ir::CollectiveKind::kAllReduce, ir::CollectiveKind::kBroadcast>},
      {"broadcast instead of permute", InsteadOf<ir::CollectiveKind::kPermute, ir::CollectiveKind::kBroadcast>},
      {"a permute that moves nothing", PermuteElsewhere},
      {"outputs of a merged collective exchanged", TransferOutputsExchanged},
      {"a transfer lost", TransferLost},
      {"a transfer repeated", TransferRepeated},
      {"inputs of two collectives exchanged", CollectiveInputsExchanged},
      {"a halo from the wrong place, first side", HaloElsewhere<0>},
      {"a halo from the wrong place, last side", HaloElsewhere<1>},
      {"a slice by another axis", SliceOfAnotherAxis},
      {"a slice of another dimension", SliceInAnotherDimension},
      {"a slice by axes in another order", SliceAxesReversed},
      {"a slice dropped", DropSlice},
      {"a slice dropped, its input said to lie as its output", DropSliceAndLie},
  };
}

}  // namespace cleave::tests::properties
