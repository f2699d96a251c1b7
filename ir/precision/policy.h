// In which types the ops of a bf16 training compute and read. Inside of ir/precision only.
#ifndef CLEAVE_IR_PRECISION_POLICY_H_
#define CLEAVE_IR_PRECISION_POLICY_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "base/strong_id/strong_id.h"
#include "ir/graph/graph.h"
#include "ir/types/types.h"

namespace cleave {

// What becomes of an op kind under bf16.
enum class Treatment {
  kProduct,   // Reads bf16. What it adds up is kept in f32 where it is a parameter's gradient, else rounded to bf16.
  kGradient,  // A product whose value is always a parameter's gradient: reads bf16, gives f32.
  kFollow,    // Computes in bf16 where it reads bf16, else in f32.
  kFloat,     // Reads and gives f32.
};

// kFloat for every kind that the table does not name.
Treatment TreatmentOf(OpKind kind);

// Of one op: the type of its value, and the type in which it reads each input.
struct Types16 {
  DType result = DType::kF32;
  std::vector<DType> reads;

  bool operator==(const Types16&) const = default;
};

// REQUIRES: `graph` holds no bf16.
IdVector<OpId, Types16> ChooseTypes(const Graph& graph);

}  // namespace cleave

#endif  // CLEAVE_IR_PRECISION_POLICY_H_
