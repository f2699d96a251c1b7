#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/boxing.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
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

// Windows of the input end where the slice does, so elements behind it do not count.
void EvaluateSlice(const Evaluation& evaluation) {
  Shape output;
  for (const FactorRange& range : evaluation.ranges) output.push_back(range.global);
  CopyShifted(
      evaluation, 0,
      ShiftedWindows(evaluation.attributes.Get(attribute::kEnd), output, evaluation.attributes.Get(attribute::kBegin)));
}

Attributes ResizeSlice(const Attributes& attributes, const Rule& resized) {
  std::vector<int64_t> end = resized.OutputShape();
  std::vector<int64_t> begin(end.size(), 0);
  for (const InputWindow& entry : resized.windows) begin[static_cast<size_t>(entry.dimension)] = entry.window.first;
  for (size_t d = 0; d < end.size(); ++d) end[d] += begin[d];
  Attributes result = attributes;
  result.Set(attribute::kBegin, begin);
  result.Set(attribute::kEnd, end);
  return result;
}

OpId BatchSlice(Lift& lift) {
  return lift.Main(lift.Inputs(), {{attribute::kBegin, Before(0, lift.op().attributes.Get(attribute::kBegin))},
                                   {attribute::kEnd, Before(lift.size(), lift.op().attributes.Get(attribute::kEnd))}});
}

std::vector<std::vector<int64_t>> SliceBegins(Types, const TensorType&, const Attributes& attributes) {
  return {attributes.Get(attribute::kBegin)};
}

std::vector<KernelCall> SliceCalls(const CallSite& site) {
  return {CopyBoxCall(PlaceInInput(site, site.attributes.Get(attribute::kBegin)))};
}

// Zeros around a tensor; also the gradient of slice.

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
    // Each number is at most the limit, so that the sum does not overflow; beyond it, InferChecked refuses the shape.
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

Attributes ResizePad(const Attributes& attributes, const Rule& resized) {
  std::vector<int64_t> before(resized.output.size(), 0);
  std::vector<int64_t> after = before;
  for (const InputWindow& entry : resized.windows) {
    const Window& window = entry.window;
    const size_t d = static_cast<size_t>(entry.dimension);
    before[d] = -window.first;
    after[d] = window.outer - before[d] - window.elements;
  }
  Attributes result = attributes;
  result.Set(attribute::kBefore, before);
  result.Set(attribute::kAfter, after);
  return result;
}

OpId BatchPad(Lift& lift) {
  return lift.Main(lift.Inputs(), {{attribute::kBefore, Before(0, lift.op().attributes.Get(attribute::kBefore))},
                                   {attribute::kAfter, Before(0, lift.op().attributes.Get(attribute::kAfter))}});
}

std::vector<KernelCall> PadCalls(const CallSite& site) {
  return {ZeroCall(site), PasteBoxCall(0, PlaceInResult(site, 0, site.attributes.Get(attribute::kBefore)))};
}

}  // namespace

OpDefinition DefineSlice() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .looks_up = 0,
      .treatment = Treatment::kFollow,
      .boxes = Boxes{.of = Boxes::Of::kInput, .begins = SliceBegins},
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kBegin), RequiredAttribute(attribute::kEnd)},
      .summary = "elements begin to end, without end, of every dimension; written x[a..b, ..]",
      .infer = InferSlice,
      .rule = SliceRule,
      .gradient = SliceGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluateSlice,
      .resize = ResizeSlice,
      .batch = BatchSlice,
      .calls = SliceCalls};
}

OpDefinition DefinePad() {
  return OpDefinition{
      .op_class = OpClass::kMovement,
      .treatment = Treatment::kFollow,
      .signature = {{.name = "x"}, RequiredAttribute(attribute::kBefore), RequiredAttribute(attribute::kAfter)},
      .summary = "x with `before` zeros in front of each dimension and `after` zeros behind it",
      .infer = InferPad,
      .rule = PadRule,
      .gradient = PadGradients,
      .flops = FlopsPerElement<0>,
      .evaluate = EvaluatePad,
      .resize = ResizePad,
      .batch = BatchPad,
      .calls = PadCalls};
}

}  // namespace cleave::ir
