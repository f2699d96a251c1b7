// The gradient of conv2d by its images: (dy, filter) to images of `size`. An element takes part in the result at every
// place at which a tap of the kernel looks at it.

#include "absl/strings/str_cat.h"
#include "ir/ops/convolving.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

Shape ImagesShape(Types inputs, const Attributes& attributes) {
  const Pair size = PairOf(attributes, attribute::kImageSize);
  return {inputs[0].shape[0], inputs[1].shape[1] * attributes.Get(attribute::kGroups), size.rows, size.columns};
}

InferResult InferConv2dGradientInput(Types inputs, const Attributes& attributes) {
  for (int input : {0, 1}) {
    if (auto error = CheckImages(inputs, input, "dy")) return *error;
  }
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "filter")) return *error;
  if (auto error = CheckConvolution(attributes)) return *error;
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  if (auto error = CheckPair(attributes, attribute::kImageSize, 1)) return *error;
  const Shape& filter = inputs[1].shape;
  const Shape images = ImagesShape(inputs, attributes);
  const Shape expected = SlidOver(images, filter[0], ConvolutionSliding(attributes, filter[2], filter[3]));
  if (inputs[0].shape == expected && filter[0] % attributes.Get(attribute::kGroups) == 0) {
    return TensorType{std::get<DType>(dtype), images};
  }
  return OpError{.code = Code::kE0411,
                 .message = absl::StrCat("a gradient of ", ShapeText(inputs[0].shape), " instead of ",
                                         ShapeText(expected), " for images of ", ShapeText(images))};
}

Rule Conv2dGradientInputRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const ConvolutionShapes shapes = {.x = output.shape, .filter = inputs[1].shape, .y = inputs[0].shape};
  return ConvolutionRule(ConvolutionOutput::kX, shapes, attributes);
}

// Per place of the kernel; these are counted by the images' elements, which every rank has only its own of: 1 in
// stride x stride.
Flops Conv2dGradientInputFlops(Types inputs, const TensorType& output, const Attributes& attributes) {
  const Pair stride = PairOf(attributes, attribute::kStride);
  const double area = static_cast<double>(stride.rows) * static_cast<double>(stride.columns);
  return Flops(ConvolutionFlops(output.shape, inputs[1].shape).value() / area);
}

void EvaluateConv2dGradientInput(const Evaluation& evaluation) {
  const std::vector<double>& dy = evaluation.inputs[0]->values;
  const std::vector<double>& filter = evaluation.inputs[1]->values;
  std::vector<double>& dx = evaluation.output.values;
  const ConvolutionShapes local = {
      .x = evaluation.output.shape, .filter = evaluation.inputs[1]->shape, .y = evaluation.inputs[0]->shape};
  ForEachProduct(local, ConvolutionSlidingOf(evaluation, ConvolutionOutput::kX, local),
                 [&](size_t at_x, size_t at_filter, size_t at_y) { dx[at_x] += filter[at_filter] * dy[at_y]; });
}

}  // namespace

OpDefinition DefineConv2dGradientInput() {
  return OpDefinition{
      .op_class = OpClass::kProduct,
      .callable = false,
      .signature = ConvolutionSignature({{.name = "dy"}, {.name = "filter"}, RequiredAttribute(attribute::kImageSize)}),
      .summary = "gradient of conv2d by its images",
      .infer = InferConv2dGradientInput,
      .rule = Conv2dGradientInputRule,
      .flops = Conv2dGradientInputFlops,
      .evaluate = EvaluateConv2dGradientInput,
      .resize = ResizeGroups};
}

}  // namespace cleave
