#include "absl/strings/str_cat.h"
#include "ir/ops/boxing.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

InferResult InferSlice(Types inputs, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  const std::vector<int64_t>& begin = attributes.Get(attribute::kBegin);
  const std::vector<int64_t>& end = attributes.Get(attribute::kEnd);
  if (begin.size() != shape.size() || end.size() != shape.size()) {
    return OpError{.code = Code::kE0412,
                   .message = absl::StrCat("a slice of ", begin.size(), " dimensions of a tensor with ", shape.size()),
                   .about = {{0, absl::StrCat("is ", ShapeText(shape))}}};
  }
  TensorType output{inputs[0].dtype, {}};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (begin[d] < 0 || end[d] > shape[d] || begin[d] >= end[d]) {
      return OpError{.code = Code::kE0412,
                     .message = absl::StrCat("slice ", begin[d], "..", end[d], " of dimension ", d, " with ", shape[d],
                                             " elements"),
                     .about = {{0, absl::StrCat("has ", shape[d], " in dimension ", d)}},
                     .notes = {"a slice a..b needs 0 <= a < b <= size"}};
    }
    output.shape.push_back(end[d] - begin[d]);
  }
  return output;
}

Rule SliceRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return ShiftedRule({ShiftedWindows(inputs[0].shape, output.shape, attributes.Get(attribute::kBegin))}, output.shape);
}

Gradients SliceGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const Shape& shape = builder.type(op.inputs[0]).shape;
  std::vector<int64_t> after;
  for (size_t d = 0; d < shape.size(); ++d) after.push_back(shape[d] - op.attributes.Get(attribute::kEnd)[d]);
  return {builder.Add(OpKind::kPad, {dy},
                      {{attribute::kBefore, op.attributes.Get(attribute::kBegin)}, {attribute::kAfter, after}},
                      GradientName(op, "x"))};
}

// What of the input's size lies behind the slice is seen only by who works on all of it, and then it is the local size.
void EvaluateSlice(const Evaluation& evaluation) {
  Shape input = evaluation.attributes.Get(attribute::kEnd);
  Shape output;
  for (size_t d = 0; d < input.size(); ++d) {
    const FactorRange& range = evaluation.ranges[d];
    if (range.size == range.global) input[d] = evaluation.inputs[0]->shape[d];
    output.push_back(range.global);
  }
  CopyShifted(evaluation, 0, ShiftedWindows(input, output, evaluation.attributes.Get(attribute::kBegin)));
}

Attributes ResizeSlice(const Attributes& attributes, const Rule& rule, absl::Span<const int64_t> factor_sizes) {
  Attributes resized = attributes;
  std::vector<int64_t> end = SizesOf(rule.output, factor_sizes);
  for (size_t d = 0; d < end.size(); ++d) end[d] += attributes.Get(attribute::kBegin)[d];
  resized.Set(attribute::kEnd, end);
  return resized;
}

}  // namespace

OpDefinition DefineSlice() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kBegin), RequiredAttribute(attribute::kEnd)},
      .summary = "elements begin to end, without end, of every dimension; written x[a..b, ..]",
      .infer = InferSlice,
      .rule = SliceRule,
      .gradient = SliceGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluateSlice,
      .resize = ResizeSlice};
}

}  // namespace cleave
