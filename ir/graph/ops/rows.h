// Shared by ops over the last dimension: softmax, layer_norm and their gradients. Inside of ir/graph/ops only.
#ifndef CLEAVE_IR_GRAPH_OPS_ROWS_H_
#define CLEAVE_IR_GRAPH_OPS_ROWS_H_

#include <cmath>
#include <string>
#include <vector>

#include "ir/graph/ops/builder.h"
#include "ir/graph/ops/elementwise.h"

namespace cleave::ir {

// x: f32 with at least one dimension -> the same type.
InferResult InferRows(Types inputs, const Attributes& attributes);

// An error unless input `index` is f32[.., 1]: one number for each row of input 0. `argument` is its name.
std::optional<OpError> CheckPerRow(Types inputs, int index, const std::string& argument);

// Which dimensions of the rows [d0, d1, …, k] a tensor has.
enum class RowPart {
  kAll,      // [d0, d1, …, k]
  kLeading,  // [d0, d1, …]
  kPerRow,   // [d0, d1, …, 1]
  kFirst,    // [d0]
  kLast,     // [k]
  kNone,     // A scalar.
};

// Factors d0 d1 … of the leading dimensions of `shape`, parallel or reduced, and `k` of its last: inner if the op needs
// whole rows.
struct RowsRule {
  std::vector<RowPart> inputs;
  RowPart output = RowPart::kAll;
  FactorKind leading = FactorKind::kParallel;
  FactorKind last = FactorKind::kInner;
  LinearGroups linear = {};

  Rule For(const Shape& shape) const;
};

// The length of a row and the number of rows of a local tensor. REQUIRES: the last dimension is whole.
struct Rows {
  int64_t count = 0;
  int64_t length = 0;
};
Rows RowsOf(const Tensor& tensor);

// `PerElement` operations for each element of input 0.
template <int PerElement>
Flops FlopsPerInputElement(Types inputs, const TensorType&, const Attributes&) {
  return Flops(static_cast<double>(PerElement) * static_cast<double>(inputs[0].elements()));
}

// The largest number of a row, and the sum of exp(x - largest), which neither overflows nor loses what is left of large
// numbers: a row of which all elements are masked by -1e9 has a softmax, too.
struct RowExpSum {
  double largest = 0;
  double sum = 0;

  double LogSumExp() const { return largest + std::log(sum); }
};
RowExpSum RowExpSumOf(const double* row, int64_t length);

// The building blocks of distributed forms of ops over rows: statistics [.., 1] of x [.., k] over its last dimension,
// which broadcast against x. Where that dimension is cut, each is a partial result until the ranks combine it.

// Ops are named "<name>.max", "<name>.sum", ….
OpId RowMax(GraphBuilder& builder, OpId x, const std::string& name);
OpId RowSum(GraphBuilder& builder, OpId x, const std::string& name);
OpId RowMean(GraphBuilder& builder, OpId x, const std::string& name);

// exp(x - max) [.., k] and its sum: a softmax before the division, without overflow.
struct RowExponentials {
  OpId max;
  OpId shifted;  // x - max.
  OpId exponentials;
  OpId sum;
};
RowExponentials ExponentialsOf(GraphBuilder& builder, OpId x, const std::string& name);

// log(sum of exp(x)).
OpId RowLogSumExp(GraphBuilder& builder, OpId x, const std::string& name);

// (x - mean) / sqrt(variance + epsilon) [.., k], and 1 / sqrt(variance + epsilon). Not `centered`: 0 stands for the
// mean.
struct NormalizedRows {
  OpId values;
  OpId inverse_deviation;
};
struct Norm {
  double epsilon = 0;
  bool centered = true;
};
NormalizedRows Normalized(GraphBuilder& builder, OpId x, const Norm& norm, const std::string& name);

}  // namespace cleave::ir

#endif  // CLEAVE_IR_GRAPH_OPS_ROWS_H_
