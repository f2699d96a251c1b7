// Zeros around a tensor; also the gradient of slice.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/boxing.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

// One number per dimension, none negative.
std::optional<OpError> CheckNumbers(Types inputs, const Attributes& attributes, Attribute<std::vector<int64_t>> key) {
  const std::vector<int64_t>& numbers = attributes.Get(key);
  if (numbers.size() != inputs[0].shape.size()) {
    return OpError{
        .code = Code::kE0409,
        .message = absl::StrCat("`", key.name, "` has ", Plural(static_cast<int64_t>(numbers.size()), "number"),
                                " for a tensor with ", Plural(inputs[0].rank(), "dimension")),
        .about = {{0, absl::StrCat("is ", ShapeText(inputs[0].shape))}}};
  }
  for (size_t d = 0; d < numbers.size(); ++d) {
    if (numbers[d] >= 0) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`", key.name, "` is ", numbers[d], " in dimension ", d),
                   .help = {"to leave elements out, take a slice: x[a..b]"}};
  }
  return std::nullopt;
}

InferResult InferPad(Types inputs, const Attributes& attributes) {
  if (auto error = CheckNumbers(inputs, attributes, attribute::kBefore)) return *error;
  if (auto error = CheckNumbers(inputs, attributes, attribute::kAfter)) return *error;
  TensorType output = inputs[0];
  for (size_t d = 0; d < output.shape.size(); ++d) {
    // Each at most the limit, so that the sum does not overflow; beyond it, InferChecked refuses the shape.
    for (const auto key : {attribute::kBefore, attribute::kAfter}) {
      output.shape[d] += std::min(attributes.Get(key)[d], kMaxElements);
    }
  }
  return output;
}

std::vector<Window> PadWindows(const Shape& input, const Shape& output, const Attributes& attributes) {
  std::vector<int64_t> offset;
  for (int64_t before : attributes.Get(attribute::kBefore)) offset.push_back(-before);
  return ShiftedWindows(input, output, offset);
}

Rule PadRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  return ShiftedRule({PadWindows(inputs[0].shape, output.shape, attributes)}, output.shape);
}

Gradients PadGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const std::vector<int64_t>& begin = op.attributes.Get(attribute::kBefore);
  std::vector<int64_t> end = builder.type(op.inputs[0]).shape;
  for (size_t d = 0; d < end.size(); ++d) end[d] += begin[d];
  return {
      builder.Add(OpKind::kSlice, {dy}, {{attribute::kBegin, begin}, {attribute::kEnd, end}}, GradientName(op, "x"))};
}

void EvaluatePad(const Evaluation& evaluation) {
  Shape input;
  Shape output;
  for (size_t d = 0; d < evaluation.output.shape.size(); ++d) {
    output.push_back(evaluation.ranges[d].global);
    input.push_back(output[d] - evaluation.attributes.Get(attribute::kBefore)[d] -
                    evaluation.attributes.Get(attribute::kAfter)[d]);
  }
  CopyShifted(evaluation, 0, PadWindows(input, output, evaluation.attributes));
}

}  // namespace

OpDefinition DefinePad() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kBefore), RequiredAttribute(attribute::kAfter)},
      .summary = "x with `before` zeros in front of each dimension and `after` zeros behind it",
      .infer = InferPad,
      .rule = PadRule,
      .gradient = PadGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluatePad};
}

}  // namespace cleave
