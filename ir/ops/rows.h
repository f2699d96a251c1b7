// What ops over the last dimension share: softmax, layer_norm and their gradients. Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_ROWS_H_
#define CLEAVE_IR_OPS_ROWS_H_

#include <string>
#include <vector>

#include "ir/ops/elementwise.h"

namespace cleave {

// x: f32 with at least one dimension -> the same type.
InferResult InferRows(Types inputs, const Attributes& attributes);

// Factors d0 … of the leading dimensions and `k`, whole, of the last. Inputs of the rank of the first have all of them, those with one
// dimension less the leading ones, and vectors, where `vectors` says so, `k`.
struct RowsRuleOptions {
  FactorKind leading = FactorKind::kParallel;
  bool output_has_leading = true;
  LinearGroups linear = {};
};
Rule RowsRule(Types inputs, const RowsRuleOptions& options);

// The length of a row and the number of rows of a local tensor. REQUIRES: the last dimension is whole.
struct Rows {
  int64_t count = 0;
  int64_t length = 0;
};
Rows RowsOf(const Tensor& tensor);

// log(sum of exp) of a row, without overflow.
double LogSumExp(const double* row, int64_t length);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_ROWS_H_
