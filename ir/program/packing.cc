#include "ir/program/packing.h"

#include <algorithm>
#include <cstdint>

#include "ir/sharding/layout/layout.h"
#include "ir/sharding/mesh/mesh.h"

namespace cleave::ir {
namespace {

// A tensor that is gathered or scattered: the whole, the value that is a piece of it, and the dimension that is cut.
struct Cut {
  ValueId whole;
  ValueId piece;
  int dimension = 0;
};

Cut CutOf(const Collective& collective, const Transfer& transfer) {
  return collective.kind == CollectiveKind::kAllGather ? Cut{transfer.output, transfer.input, transfer.from_dimension}
                                                       : Cut{transfer.input, transfer.output, transfer.to_dimension};
}

// Whether the pieces lie one after another: all dimensions before that which is cut have one element.
bool IsContiguous(const Program& program, const Cut& cut) {
  const Shape shape = LargestLocalShape(program, cut.whole);
  return std::all_of(shape.begin(), shape.begin() + cut.dimension, [](int64_t size) { return size == 1; });
}

// The bytes of a tensor's place in a part of the message: runtime/comm/packed_parts.h.
Bytes PlaceOf(const Program& program, const Cut& cut) {
  constexpr int64_t kAlignment = 16;
  return Bytes((LargestLocalBytes(program, cut.piece).value() + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

bool IsEven(const Program& program, const Collective& collective, const Transfer& transfer) {
  const Cut cut = CutOf(collective, transfer);
  const Value& piece = program.value(cut.piece);
  const auto d = static_cast<size_t>(cut.dimension);
  const bool is_even = piece.type.shape[d] % CutCounts(piece.layout, program.mesh)[d] == 0;
  return is_even && IsContiguous(program, cut);
}

Packing PackingOf(const Program& program, const Collective& collective, PieceCounts counts) {
  const bool has_pieces =
      collective.kind == CollectiveKind::kAllGather || collective.kind == CollectiveKind::kReduceScatter;
  const int64_t ranks = program.mesh.Size(collective.axes);
  Packing packing;
  if (!has_pieces || ranks == 1) return packing;
  for (const Transfer& transfer : collective.transfers) {
    const Cut cut = CutOf(collective, transfer);
    const bool lies_well = counts == PieceCounts::kEqual
                               ? IsEven(program, collective, transfer)
                               : collective.transfers.size() == 1 && IsContiguous(program, cut);
    if (lies_well) continue;
    ++packing.tensors;
    packing.part += PlaceOf(program, cut);
  }
  packing.message = packing.part * ranks;
  return packing;
}

}  // namespace cleave::ir
