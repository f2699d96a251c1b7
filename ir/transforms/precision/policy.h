// In which types the ops of a training in 16 bits compute and read, by their treatment (OpDefinition). Inside of
// ir/transforms/precision only.
#ifndef CLEAVE_IR_TRANSFORMS_PRECISION_POLICY_H_
#define CLEAVE_IR_TRANSFORMS_PRECISION_POLICY_H_

#include "absl/container/inlined_vector.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/types.h"

namespace cleave::ir {

// Of one op: the type of its value, and the type in which it reads each input.
struct Types16 {
  DType result = DType::kF32;
  absl::InlinedVector<DType, 3> reads;

  bool operator==(const Types16&) const = default;
};

// `dtype`: the type of 16 bits. REQUIRES: `graph` holds none.
IdVector<OpId, Types16> ChooseTypes(const Graph& graph, DType dtype);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_TRANSFORMS_PRECISION_POLICY_H_
