// Convolution of images [n, c, h, w] with filters [o, c / groups, kh, kw], as a correlation: the kernel is not
// mirrored.

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/ops/convolving.h"
#include "ir/ops/define.h"

namespace cleave {
namespace {

std::optional<OpError> CheckChannels(Types inputs, int64_t groups) {
  const int64_t channels = inputs[0].shape[1];
  const int64_t filters = inputs[1].shape[0];
  const int64_t seen = inputs[1].shape[1];
  for (int input : {0, 1}) {
    const int64_t count = input == 0 ? channels : filters;
    if (count % groups == 0) continue;
    const std::string what = input == 0 ? "channel" : "filter";
    return OpError{.code = Code::kE0413,
                   .message = absl::StrCat(groups, " groups do not divide ", Plural(count, what)),
                   .about = {{input, absl::StrCat("has ", Plural(count, what))}}};
  }
  if (seen * groups == channels) return std::nullopt;
  OpError error{.code = Code::kE0413,
                .message = groups == 1
                               ? absl::StrCat("filters over ", Plural(seen, "channel"), " for images with ", channels)
                               : absl::StrCat("filters over ", Plural(seen, "channel"), " for ", groups, " groups of ",
                                              channels / groups),
                .about = {{1, absl::StrCat("has ", Plural(seen, "channel"), " in dimension 1")},
                          {0, absl::StrCat("has ", Plural(channels, "channel"), " in dimension 1")}}};
  if (channels % seen == 0 && filters % (channels / seen) == 0) {
    error.help.push_back(absl::StrCat("groups = ", channels / seen));
  }
  return error;
}

InferResult InferConv2d(Types inputs, const Attributes& attributes) {
  if (auto error = CheckImages(inputs, 0, "x")) return *error;
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "filter")) return *error;
  const Shape& filter = inputs[1].shape;
  if (filter.size() != 4) {
    return OpError{.code = Code::kE0408,
                   .message = absl::StrCat("filters have 4 dimensions, found ", filter.size()),
                   .about = {{1, absl::StrCat("has ", Plural(static_cast<int64_t>(filter.size()), "dimension"))}},
                   .notes = {"the dimensions are filters, channels of a group, rows and columns"}};
  }
  if (auto error = CheckConvolution(attributes)) return *error;
  if (auto error = CheckChannels(inputs, attributes.Get(attribute::kGroups))) return *error;
  const Sliding2d sliding = ConvolutionSliding(attributes, filter[2], filter[3]);
  if (auto error = CheckFits(inputs, 0, sliding)) return *error;
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  return TensorType{std::get<DType>(dtype), SlidOver(inputs[0].shape, filter[0], sliding)};
}

Rule Conv2dRule(Types inputs, const TensorType& output, const Attributes& attributes) {
  const ConvolutionShapes shapes = {.x = inputs[0].shape, .filter = inputs[1].shape, .y = output.shape};
  return ConvolutionRule(ConvolutionOutput::kY, shapes, attributes);
}

Gradients Conv2dGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  const OpId filter = op.inputs[1];
  Attributes of_x = ConvolutionAttributes(op.attributes);
  Attributes of_filter = of_x;
  const Shape images = builder.type(x).shape;
  const Shape filters = builder.type(filter).shape;
  of_x.Set(attribute::kImageSize, std::vector<int64_t>{images[2], images[3]});
  of_filter.Set(attribute::kKernel, std::vector<int64_t>{filters[2], filters[3]});
  const OpId dx = builder.Add(OpKind::kConv2dGradientInput, {dy, filter}, of_x, GradientName(op, "x"));
  return {dx, builder.Add(OpKind::kConv2dGradientFilter, {dy, x}, of_filter, GradientName(op, "filter"))};
}

Flops Conv2dFlops(Types inputs, const TensorType& output, const Attributes&) {
  return ConvolutionFlops(output.shape, inputs[1].shape);
}

void EvaluateConv2d(const Evaluation& evaluation) {
  const std::vector<double>& x = evaluation.inputs[0]->values;
  const std::vector<double>& filter = evaluation.inputs[1]->values;
  std::vector<double>& y = evaluation.output.values;
  const ConvolutionShapes local = {
      .x = evaluation.inputs[0]->shape, .filter = evaluation.inputs[1]->shape, .y = evaluation.output.shape};
  ForEachProduct(local, ConvolutionSlidingOf(evaluation, ConvolutionOutput::kY, local),
                 [&](size_t at_x, size_t at_filter, size_t at_y) { y[at_y] += x[at_x] * filter[at_filter]; });
}

}  // namespace

OpDefinition DefineConv2d() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .signature = ConvolutionSignature({{.name = "x"}, {.name = "filter"}}),
                      .summary = "convolution of images [n, c, h, w] with filters [o, c / groups, rows, columns]",
                      .infer = InferConv2d,
                      .rule = Conv2dRule,
                      .gradient = Conv2dGradients,
                      .flops = Conv2dFlops,
                      .evaluate = EvaluateConv2d,
                      .resize = ResizeGroups};
}

}  // namespace cleave
