#include "ir/graph/ops/rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/graph/ops/builder.h"

namespace cleave::ir {

int AddFactor(Rule& rule, std::string name, int64_t size, FactorKind kind) {
  rule.factors.push_back(Factor{.name = std::move(name), .kind = kind, .size = size});
  return static_cast<int>(rule.factors.size()) - 1;
}

std::vector<FactorList> AddDimensions(Rule& rule, const Shape& shape, FactorKind kind) {
  std::vector<FactorList> dimensions;
  for (size_t d = 0; d < shape.size(); ++d)
    dimensions.push_back({AddFactor(rule, absl::StrCat("d", d), shape[d], kind)});
  return dimensions;
}

Rule BroadcastRule(Types inputs, const TensorType& output, LinearGroups linear) {
  Rule rule;
  rule.output = AddDimensions(rule, output.shape);
  for (const TensorType& input : inputs) {
    const size_t offset = output.shape.size() - input.shape.size();
    std::vector<FactorList> dimensions;
    for (size_t d = 0; d < input.shape.size(); ++d) {
      const bool repeated = input.shape[d] != output.shape[offset + d];
      dimensions.push_back(repeated ? FactorList{} : rule.output[offset + d]);
    }
    rule.inputs.push_back(std::move(dimensions));
  }
  rule.linear = std::move(linear);
  return rule;
}

std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t back = 0; back < shape.size(); ++back) {
    const int64_t size_a = back < a.size() ? a[a.size() - 1 - back] : 1;
    const int64_t size_b = back < b.size() ? b[b.size() - 1 - back] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) return std::nullopt;
    shape[shape.size() - 1 - back] = size_a == 1 ? size_b : size_a;
  }
  return shape;
}

std::vector<int64_t> BroadcastIndex(const Shape& output, const Shape& input) {
  const std::vector<int64_t> strides = Strides(input);
  const size_t offset = output.size() - input.size();
  std::vector<int64_t> step(output.size(), 0);
  for (size_t d = 0; d < input.size(); ++d) step[offset + d] = input[d] == 1 ? 0 : strides[d];

  std::vector<int64_t> result(static_cast<size_t>(ElementCount(output)));
  Shape index(output.size(), 0);
  int64_t position = 0;
  for (int64_t& element : result) {
    element = position;
    for (size_t d = output.size(); d-- > 0;) {
      position += step[d];
      if (++index[d] < output[d]) break;
      position -= step[d] * output[d];
      index[d] = 0;
    }
  }
  return result;
}

InputWindow PiecesWindow(int input, int dimension, int64_t elements, int64_t pieces) {
  return {.input = input,
          .dimension = dimension,
          .window = {.elements = elements,
                     .outer = pieces,
                     .numerator = elements,
                     .denominator = pieces,
                     .last = elements - pieces},
          .cause = WindowCause::kPieces};
}

Attributes ResizeShape(const Attributes& attributes, const Rule& resized) {
  Attributes result = attributes;
  result.Set(attribute::kShape, resized.OutputShape());
  return result;
}

OpId SumToType(GraphBuilder& builder, OpId gradient, TensorType type, const std::string& name) {
  const Shape whole = builder.type(gradient).shape;
  if (whole == type.shape) return gradient;
  const size_t offset = whole.size() - type.shape.size();
  std::vector<int64_t> axes;
  for (size_t d = 0; d < whole.size(); ++d) {
    if (d < offset || type.shape[d - offset] != whole[d]) axes.push_back(static_cast<int64_t>(d));
  }
  OpId sum = gradient;
  if (!axes.empty()) sum = builder.Add(OpKind::kReduceSum, {gradient}, {{attribute::kAxes, axes}}, name);
  if (builder.type(sum).shape == type.shape) return sum;
  return builder.Add(OpKind::kReshape, {sum}, {{attribute::kShape, type.shape}}, name);
}

OpId RepeatAlong(GraphBuilder& builder, OpId value, const Shape& shape, const std::vector<int>& axes,
                 const std::string& name) {
  Shape kept = shape;
  for (int axis : axes) kept[static_cast<size_t>(axis)] = 1;
  if (builder.type(value).shape != kept)
    value = builder.Add(OpKind::kReshape, {value}, {{attribute::kShape, kept}}, name);
  if (kept == shape) return value;
  return builder.Add(OpKind::kBroadcastTo, {value}, {{attribute::kShape, shape}}, name);
}

}  // namespace cleave::ir
