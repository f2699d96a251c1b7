#include "ir/ops/row_statistics.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave {
namespace {

OpId Reduced(GraphBuilder& builder, OpKind kind, OpId x, const std::string& name) {
  return builder.Add(kind, {x}, {{attribute::kAxes, std::vector<int64_t>{-1}}, {attribute::kKeepDims, true}}, name);
}

}  // namespace

OpId RowMax(GraphBuilder& builder, OpId x, const std::string& name) {
  return Reduced(builder, OpKind::kReduceMax, x, absl::StrCat(name, ".max"));
}

OpId RowSum(GraphBuilder& builder, OpId x, const std::string& name) {
  return Reduced(builder, OpKind::kReduceSum, x, absl::StrCat(name, ".sum"));
}

OpId RowMean(GraphBuilder& builder, OpId x, const std::string& name) {
  return Reduced(builder, OpKind::kReduceMean, x, absl::StrCat(name, ".mean"));
}

RowExponentials ExponentialsOf(GraphBuilder& builder, OpId x, const std::string& name) {
  const OpId max = RowMax(builder, x, name);
  const OpId shifted = builder.Add(OpKind::kSub, {x, max}, {}, absl::StrCat(name, ".shifted"));
  const OpId exponentials = builder.Add(OpKind::kExp, {shifted}, {}, absl::StrCat(name, ".exp"));
  return {.max = max, .exponentials = exponentials, .sum = RowSum(builder, exponentials, name)};
}

OpId RowLogSumExp(GraphBuilder& builder, OpId x, const std::string& name) {
  const RowExponentials parts = ExponentialsOf(builder, x, name);
  const OpId log = builder.Add(OpKind::kLog, {parts.sum}, {}, absl::StrCat(name, ".log"));
  return builder.Add(OpKind::kAdd, {parts.max, log}, {}, absl::StrCat(name, ".log_sum"));
}

NormalizedRows Normalized(GraphBuilder& builder, OpId x, double epsilon, const std::string& name) {
  const OpId mean = RowMean(builder, x, name);
  const OpId centered = builder.Add(OpKind::kSub, {x, mean}, {}, absl::StrCat(name, ".centered"));
  const OpId squares = builder.Add(OpKind::kSquare, {centered}, {}, absl::StrCat(name, ".squares"));
  const OpId variance = RowMean(builder, squares, absl::StrCat(name, ".squares"));
  const OpId small = builder.Add(OpKind::kConstant, {}, {{attribute::kShape, Shape{}}, {attribute::kValue, epsilon}},
                                 absl::StrCat(name, ".epsilon"));
  const OpId above_zero = builder.Add(OpKind::kAdd, {variance, small}, {}, absl::StrCat(name, ".variance"));
  const OpId inverse = builder.Add(OpKind::kRsqrt, {above_zero}, {}, absl::StrCat(name, ".inverse_deviation"));
  return {.values = builder.Add(OpKind::kMul, {centered, inverse}, {}, absl::StrCat(name, ".normalized")),
          .inverse_deviation = inverse};
}

}  // namespace cleave
