// The memory that the calls of an op take beside their tensors.
#ifndef CLEAVE_IR_GRAPH_OPS_NEED_H_
#define CLEAVE_IR_GRAPH_OPS_NEED_H_

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "base/units/units.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// A call gives back temporary memory; the other pieces stay, each as large as the largest that any step needs. Sums are
// kept beside each other.
struct Need {
  Bytes temporary{};
  Bytes send{};
  Bytes outboxes{};
  Bytes receive{};
  Bytes images{};
  Bytes filters{};
  Bytes results{};
  Bytes blocks{};
  Bytes sums{};

  void Include(const Need& other) {
    for (const auto piece : {&Need::temporary, &Need::send, &Need::outboxes, &Need::receive, &Need::images,
                             &Need::filters, &Need::results, &Need::blocks})
      this->*piece = std::max(this->*piece, other.*piece);
    sums += other.sums;
  }
  Bytes total() const { return temporary + send + outboxes + receive + images + filters + results + blocks + sums; }

  bool operator==(const Need&) const = default;
};

// What ReduceSum and its like take for a tensor of this shape; `reduced` says which dimensions they reduce. It mirrors
// Reduce of runtime/kernels/cpu/reduce.cc: runs of neighbouring dimensions are reduced one after another, the last one
// first, and long rows, or many short ones, in blocks.
Need ReductionNeed(const Shape& shape, const std::vector<bool>& reduced);

// For OpDefinition::need, if a sum is first computed for each row and these are then added up in order: as many numbers
// as input kInput has elements.
template <size_t kInput>
Need RowOrderNeed(absl::Span<const TensorType> inputs, const TensorType&, const Attributes&) {
  return {.temporary = ElementSize(DType::kF32) * inputs[kInput].elements()};
}

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_NEED_H_
