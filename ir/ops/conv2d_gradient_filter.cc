// The gradient of conv2d by its filters: (dy, x) to filters of `kernel`; a sum over samples and places, so that a rank
// adds up its own.

#include "absl/strings/str_cat.h"
#include "ir/ops/convolving.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

Sliding2d SlidingOf(const Attributes& attributes) {
  const Pair kernel = PairOf(attributes, attribute::kKernel);
  return ConvolutionSliding(attributes, kernel.rows, kernel.columns);
}

InferResult InferConv2dGradientFilter(Types inputs, const Attributes& attributes) {
  for (int input : {0, 1}) {
    if (auto error = CheckImages(inputs, input, "dy")) return *error;
  }
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "x")) return *error;
  if (auto error = CheckConvolution(attributes)) return *error;
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  if (auto error = CheckPair(attributes, attribute::kKernel, 1)) return *error;
  const Shape& dy = inputs[0].shape;
  const Shape& x = inputs[1].shape;
  const int64_t groups = attributes.Get(attribute::kGroups);
  const Pair kernel = PairOf(attributes, attribute::kKernel);
  const Shape expected = SlidOver(x, dy[1], SlidingOf(attributes));
  if (dy == expected && x[1] % groups == 0 && dy[1] % groups == 0) {
    return TensorType{std::get<DType>(dtype), {dy[1], x[1] / groups, kernel.rows, kernel.columns}};
  }
  return OpError{.code = Code::kE0411,
                 .message = absl::StrCat("a gradient of ", ShapeText(dy), " instead of ", ShapeText(expected),
                                         " for images of ", ShapeText(x), " in ", groups, " groups")};
}

Rule Conv2dGradientFilterRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const ConvolutionShapes shapes = {.x = inputs[1].shape, .filter = output.shape, .y = inputs[0].shape};
  return ConvolutionRule(ConvolutionOutput::kFilter, shapes, attributes);
}

Flops Conv2dGradientFilterFlops(Types inputs, const TensorType& output, const Attributes&) {
  return ConvolutionFlops(inputs[0].shape, output.shape);
}

void EvaluateConv2dGradientFilter(const Evaluation& evaluation) {
  const std::vector<double>& dy = evaluation.inputs[0]->values;
  const std::vector<double>& x = evaluation.inputs[1]->values;
  std::vector<double>& dfilter = evaluation.output.values;
  const ConvolutionShapes local = {
      .x = evaluation.inputs[1]->shape, .filter = evaluation.output.shape, .y = evaluation.inputs[0]->shape};
  ForEachProduct(local, ConvolutionSlidingOf(evaluation, ConvolutionOutput::kFilter, local),
                 [&](size_t at_x, size_t at_filter, size_t at_y) { dfilter[at_filter] += x[at_x] * dy[at_y]; });
}

}  // namespace

OpDefinition DefineConv2dGradientFilter() {
  return OpDefinition{
      .op_class = OpClass::kProduct,
      .callable = false,
      .signature = ConvolutionSignature({{.name = "dy"}, {.name = "x"}, RequiredAttribute(attribute::kKernel)}),
      .summary = "gradient of conv2d by its filters",
      .infer = InferConv2dGradientFilter,
      .rule = Conv2dGradientFilterRule,
      .flops = Conv2dGradientFilterFlops,
      .evaluate = EvaluateConv2dGradientFilter,
      .resize = ResizeGroups};
}

}  // namespace cleave
