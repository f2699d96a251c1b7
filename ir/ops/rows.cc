#include "ir/ops/rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave {
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
  return OpError{.code = Code::kE0411,
                 .message = absl::StrCat("a ", argument, " of ", ShapeText(shape), " for rows ",
                                         ShapeText(inputs[0].shape)),
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

double LogSumExp(const double* row, int64_t length) {
  const double most = *std::max_element(row, row + length);
  double sum = 0;
  for (int64_t c = 0; c < length; ++c) sum += std::exp(row[c] - most);
  return most + std::log(sum);
}

}  // namespace cleave
