// What distributed forms of ops over rows are built from: statistics [.., 1] of x [.., k] over its last dimension,
// which broadcast against x. Where that dimension is cut, each is a partial result until its ranks put it together.
// Inside of ir/ops only.
#ifndef CLEAVE_IR_OPS_ROW_STATISTICS_H_
#define CLEAVE_IR_OPS_ROW_STATISTICS_H_

#include <string>

#include "ir/ops/builder.h"

namespace cleave {

// Ops are named "<name>.max", "<name>.sum", ….
OpId RowMax(GraphBuilder& builder, OpId x, const std::string& name);
OpId RowSum(GraphBuilder& builder, OpId x, const std::string& name);
OpId RowMean(GraphBuilder& builder, OpId x, const std::string& name);

// exp(x - max) [.., k] and its sum: a softmax before the division, without overflow.
struct RowExponentials {
  OpId max;
  OpId exponentials;
  OpId sum;
};
RowExponentials ExponentialsOf(GraphBuilder& builder, OpId x, const std::string& name);

// log(sum of exp(x)).
OpId RowLogSumExp(GraphBuilder& builder, OpId x, const std::string& name);

// (x - mean) / sqrt(variance + epsilon) [.., k], and 1 / sqrt(variance + epsilon).
struct NormalizedRows {
  OpId values;
  OpId inverse_deviation;
};
NormalizedRows Normalized(GraphBuilder& builder, OpId x, double epsilon, const std::string& name);

}  // namespace cleave

#endif  // CLEAVE_IR_OPS_ROW_STATISTICS_H_
