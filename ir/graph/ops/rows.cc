#include "ir/graph/ops/rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

std::vector<FactorList> PartOf(const std::vector<FactorList>& rows, RowPart part) {
  switch (part) {
    case RowPart::kAll:
      return rows;
    case RowPart::kLeading:
      return {rows.begin(), rows.end() - 1};
    case RowPart::kPerRow: {
      std::vector<FactorList> dimensions = rows;
      dimensions.back() = {};
      return dimensions;
    }
    case RowPart::kFirst:
      return {rows.front()};
    case RowPart::kLast:
      return {rows.back()};
    case RowPart::kNone:
      return {};
  }
  CLEAVE_UNREACHABLE();
}

OpId Reduced(GraphBuilder& builder, OpKind kind, OpId x, const std::string& name) {
  return builder.Add(kind, {x}, {{attribute::kAxes, std::vector<int64_t>{-1}}, {attribute::kKeepDims, true}}, name);
}

}  // namespace

InferResult InferRows(Types inputs, const Attributes&) {
  if (auto error = CheckDType(inputs, 0, DType::kF32, "x")) return *error;
  if (auto error = CheckRank(inputs, 0, 1)) return *error;
  return inputs[0];
}

std::optional<OpError> CheckPerRow(Types inputs, int index, const std::string& argument) {
  if (auto error = CheckDType(inputs, index, DType::kF32, argument)) return error;
  Shape expected = inputs[0].shape;
  expected.back() = 1;
  const Shape& shape = inputs[static_cast<size_t>(index)].shape;
  if (shape == expected) return std::nullopt;
  return OpError{
      .code = Code::kE0411,
      .message = absl::StrCat("a ", argument, " of ", ShapeText(shape), " for rows ", ShapeText(inputs[0].shape)),
      .about = {{index, absl::StrCat("is ", ShapeText(shape), " instead of ", ShapeText(expected))}}};
}

Rule RowsRule::For(const Shape& shape) const {
  Rule rule;
  std::vector<FactorList> rows;
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    rows.push_back({AddFactor(rule, absl::StrCat("d", d), shape[d], leading)});
  }
  rows.push_back({AddFactor(rule, "k", shape.back(), last)});
  for (RowPart part : inputs) rule.inputs.push_back(PartOf(rows, part));
  rule.output = PartOf(rows, output);
  rule.linear = linear;
  return rule;
}

Rows RowsOf(const Tensor& tensor) {
  const int64_t length = tensor.shape.back();
  return {.count = length == 0 ? 0 : static_cast<int64_t>(tensor.values.size()) / length, .length = length};
}

RowExpSum RowExpSumOf(const double* row, int64_t length) {
  RowExpSum result = {.largest = *std::max_element(row, row + length), .sum = 0};
  for (int64_t c = 0; c < length; ++c) result.sum += std::exp(row[c] - result.largest);
  return result;
}

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
  return {.max = max, .shifted = shifted, .exponentials = exponentials, .sum = RowSum(builder, exponentials, name)};
}

OpId RowLogSumExp(GraphBuilder& builder, OpId x, const std::string& name) {
  const RowExponentials parts = ExponentialsOf(builder, x, name);
  const OpId log = builder.Add(OpKind::kLog, {parts.sum}, {}, absl::StrCat(name, ".log"));
  return builder.Add(OpKind::kAdd, {parts.max, log}, {}, absl::StrCat(name, ".log_sum"));
}

NormalizedRows Normalized(GraphBuilder& builder, OpId x, const Norm& norm, const std::string& name) {
  OpId centered = x;
  if (norm.centered) {
    const OpId mean = RowMean(builder, x, name);
    centered = builder.Add(OpKind::kSub, {x, mean}, {}, absl::StrCat(name, ".centered"));
  }
  const OpId squares = builder.Add(OpKind::kSquare, {centered}, {}, absl::StrCat(name, ".squares"));
  const OpId variance = RowMean(builder, squares, absl::StrCat(name, ".squares"));
  const OpId small =
      builder.Add(OpKind::kConstant, {}, {{attribute::kShape, Shape{}}, {attribute::kValue, norm.epsilon}},
                  absl::StrCat(name, ".epsilon"));
  const OpId above_zero = builder.Add(OpKind::kAdd, {variance, small}, {}, absl::StrCat(name, ".variance"));
  const OpId inverse = builder.Add(OpKind::kRsqrt, {above_zero}, {}, absl::StrCat(name, ".inverse_deviation"));
  return {.values = builder.Add(OpKind::kMul, {centered, inverse}, {}, absl::StrCat(name, ".normalized")),
          .inverse_deviation = inverse};
}

}  // namespace cleave::ir
