// Convolution of images [n, c, h, w] with filters [o, c / groups, kh, kw], as a correlation: the kernel is not
// mirrored. The transposed convolution with these filters makes such images from [n, o, h', w'].

#include "absl/strings/str_cat.h"
#include "base/text/text.h"
#include "ir/graph/ops/convolving.h"
#include "ir/graph/ops/define.h"
#include "ir/graph/ops/lift.h"

namespace cleave::ir {
namespace {

std::optional<OpError> CheckFilters(Types inputs) {
  if (auto error = CheckDType(inputs, 1, inputs[0].dtype, "filter")) return error;
  const Shape& filter = inputs[1].shape;
  for (size_t d = 2; d < filter.size(); ++d) {
    if (filter[d] <= kMaxSliding) continue;
    return OpError{.code = Code::kE0413,
                   .message = absl::StrCat("a kernel over ", filter[d], " elements, more than ", kMaxSliding),
                   .about = {{1, absl::StrCat("has ", filter[d], " in dimension ", d)}}};
  }
  if (filter.size() == 4) return std::nullopt;
  return OpError{.code = Code::kE0408,
                 .message = absl::StrCat("filters have 4 dimensions, found ", filter.size()),
                 .about = {{1, absl::StrCat("has ", Plural(static_cast<int64_t>(filter.size()), "dimension"))}},
                 .notes = {"the dimensions are filters, channels of a group, rows and columns"}};
}

// An error unless the groups divide what input `input` has `count` of.
std::optional<OpError> CheckGroups(int64_t groups, int input, int64_t count, const std::string& what) {
  if (count % groups == 0) return std::nullopt;
  return OpError{.code = Code::kE0413,
                 .message = absl::StrCat(groups, " groups do not divide ", Plural(count, what)),
                 .about = {{input, absl::StrCat("has ", Plural(count, what))}}};
}

std::optional<OpError> CheckChannels(Types inputs, int64_t groups) {
  const int64_t channels = inputs[0].shape[1];
  const int64_t filters = inputs[1].shape[0];
  const int64_t seen = inputs[1].shape[1];
  if (auto error = CheckGroups(groups, 0, channels, "channel")) return error;
  if (auto error = CheckGroups(groups, 1, filters, "filter")) return error;
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
  if (auto error = CheckFilters(inputs)) return *error;
  const Shape& filter = inputs[1].shape;
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

// The gradient by the filters of `op`, through which the convolution of `images` gives `results`.
OpId FilterGradient(GraphBuilder& builder, const Op& op, OpId results, OpId images) {
  Attributes attributes = ConvolutionAttributes(op.attributes);
  const Shape& filter = builder.type(op.inputs[1]).shape;
  attributes.Set(attribute::kKernel, std::vector<int64_t>{filter[2], filter[3]});
  return builder.Add(OpKind::kConv2dGradientFilter, {results, images}, attributes, GradientName(op, "filter"));
}

Gradients Conv2dGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId x = op.inputs[0];
  Attributes attributes = ConvolutionAttributes(op.attributes);
  const Shape& images = builder.type(x).shape;
  attributes.Set(attribute::kImageSize, std::vector<int64_t>{images[2], images[3]});
  const OpId dx = builder.Add(OpKind::kConv2dGradientInput, {dy, op.inputs[1]}, attributes, GradientName(op, "x"));
  return {dx, FilterGradient(builder, op, dy, x)};
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
  ForEachProductRun(local, ConvolutionSlidingOf(evaluation, ConvolutionOutput::kY, local), [&](const ProductRun& run) {
    const double weight = filter[run.filter];
    for (size_t i = 0; i < run.count; ++i) y[run.y + i] += x[run.x + i * run.stride] * weight;
  });
}

// A tensor [m, n, …] as [n, m * …]: elements become neighbouring groups of channels.
OpId ElementsAsChannels(Lift& lift, OpId x) {
  const Shape shape = lift.shape(x);
  const OpId moved =
      lift.Step(OpKind::kTranspose, {x}, {{attribute::kPermutation, std::vector<int64_t>{1, 0, 2, 3, 4}}});
  return lift.Reshape(moved, {shape[1], shape[0] * shape[2], shape[3], shape[4]});
}

OpId ChannelsAsElements(Lift& lift, OpId y) {
  const Shape& shape = lift.op().type.shape;
  const OpId apart = lift.Reshape(y, {shape[0], lift.size(), shape[1], shape[2], shape[3]});
  return lift.Step(OpKind::kTranspose, {apart}, {{attribute::kPermutation, std::vector<int64_t>{1, 0, 2, 3, 4}}});
}

// The filters of all elements, [m * o, …].
OpId ElementsAsFilters(Lift& lift) {
  Shape filter = lift.element(1);
  filter[0] *= lift.size();
  return lift.Reshape(lift.value(1), filter);
}

// The op where elements become further samples. REQUIRES: the filters are not mapped.
OpId BatchAsSamples(Lift& lift) {
  const Shape x = lift.element(0);
  const OpId samples = lift.Reshape(lift.value(0), {lift.size() * x[0], x[1], x[2], x[3]});
  return lift.Reshape(lift.Main({samples, lift.value(1)}), Before(lift.size(), lift.op().type.shape));
}

// The op where elements become groups of channels, each seen by its own filters. REQUIRES: the filters are mapped.
OpId BatchAsGroups(Lift& lift) {
  const OpId filters = ElementsAsFilters(lift);
  Attributes attributes = lift.op().attributes;
  attributes.Set(attribute::kGroups, attributes.Get(attribute::kGroups) * lift.size());
  return ChannelsAsElements(lift, lift.Main({ElementsAsChannels(lift, lift.Whole(0)), filters}, attributes));
}

OpId BatchConv2d(Lift& lift) {
  if (!lift.mapped(1)) return BatchAsSamples(lift);
  if (!lift.mapped(0) && lift.op().attributes.Get(attribute::kGroups) == 1) {
    // Elements are further filters on the same image.
    return ChannelsAsElements(lift, lift.Main({lift.value(0), ElementsAsFilters(lift)}));
  }
  return BatchAsGroups(lift);
}

std::vector<KernelCall> Conv2dCalls(const CallSite& site) {
  return ConvolutionCall(site, "Conv2d", {.x = 0, .filter = 1, .y = kResult});
}

Need Conv2dNeed(Types inputs, const TensorType& output, const Attributes& attributes) {
  return ConvolutionNeed(ConvolutionOutput::kY, inputs[0], inputs[1], output, attributes);
}

// The gradient of conv2d by its images: (dy, filter) to images of `size`. An element contributes to the result at every
// place at which a tap of the kernel looks at it.

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
  if (auto error = CheckPair(attributes, attribute::kImageSize, 1, kMaxElements)) return *error;
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

// Counted per place of the kernel. The places are counted by the images' elements, of which every rank has only its
// own: 1 in stride x stride.
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
  ForEachProductRun(local, ConvolutionSlidingOf(evaluation, ConvolutionOutput::kX, local), [&](const ProductRun& run) {
    const double weight = filter[run.filter];
    for (size_t i = 0; i < run.count; ++i) dx[run.x + i * run.stride] += weight * dy[run.y + i];
  });
}

std::vector<KernelCall> Conv2dGradientInputCalls(const CallSite& site) {
  return ConvolutionCall(site, "Conv2dGradientInput", {.x = kResult, .filter = 1, .y = 0});
}

Need Conv2dGradientInputNeed(Types inputs, const TensorType& output, const Attributes& attributes) {
  return ConvolutionNeed(ConvolutionOutput::kX, output, inputs[1], inputs[0], attributes);
}

// The transposed convolution is that gradient as an op that models call: its images x are what conv2d would give.
// conv2d gives as many rows for images of `stride` different sizes, so `output_padding` says how many rows the result
// has more than the smallest of them.

// An error unless x has a channel for each filter, in whole groups.
std::optional<OpError> CheckTransposedChannels(Types inputs, int64_t groups) {
  const int64_t channels = inputs[0].shape[1];
  const Shape& filter = inputs[1].shape;
  if (filter[0] == channels) return CheckGroups(groups, 0, channels, "channel");
  OpError error{.code = Code::kE0413,
                .message = absl::StrCat(Plural(filter[0], "filter"), " for images with ", Plural(channels, "channel")),
                .about = {{1, absl::StrCat("has ", filter[0], " in dimension 0")},
                          {0, absl::StrCat("has ", Plural(channels, "channel"), " in dimension 1")}},
                .notes = {"a transposed convolution has a filter for each channel of its images"}};
  if (groups == 1 && filter[1] == channels) error.help.push_back("transpose(filter, (1, 0, 2, 3))");
  return error;
}

std::optional<OpError> CheckOutputPadding(const Attributes& attributes) {
  if (auto error = CheckPair(attributes, attribute::kOutputPadding, 0)) return error;
  const Pair more = PairOf(attributes, attribute::kOutputPadding);
  const Pair stride = PairOf(attributes, attribute::kStride);
  for (const auto& [added, step] : {std::pair(more.rows, stride.rows), std::pair(more.columns, stride.columns)}) {
    if (added < step) continue;
    return OpError{.code = Code::kE0409,
                   .message = absl::StrCat("`output_padding` is ", added, " for a stride of ", step),
                   .notes = {"it is less than the stride"}};
  }
  return std::nullopt;
}

// The rows or columns at which `places` of the kernel look, padding included, and `more`. It is exact where a tensor
// may be that large.
int64_t PaddedSize(const Sliding& sliding, int64_t places, int64_t more) {
  return CountUpToLimit({places - 1, sliding.stride}) + CountUpToLimit({sliding.kernel - 1, sliding.dilation}) + 1 +
         more;
}

// Takes the padding off `images`, which are made from `x`; an error where it leaves nothing.
std::optional<OpError> TakePaddingOff(const Shape& x, const Sliding2d& sliding, Shape& images) {
  for (size_t d : {2, 3}) {
    const int64_t padding = d == 2 ? sliding.rows.padding : sliding.columns.padding;
    const int64_t padded = images[d];
    images[d] -= 2 * padding;
    if (images[d] > 0) continue;
    const std::string what = d == 2 ? "rows" : "columns";
    return OpError{.code = Code::kE0413,
                   .message = absl::StrCat("padding takes away ", 2 * padding, " of ", padded, " ", what),
                   .about = {{0, absl::StrCat("has ", x[d], " ", what)}},
                   .help = {absl::StrCat("padding = ", (padded - 1) / 2)}};
  }
  return std::nullopt;
}

InferResult InferConvTranspose2d(Types inputs, const Attributes& attributes) {
  if (auto error = CheckImages(inputs, 0, "x")) return *error;
  if (auto error = CheckFilters(inputs)) return *error;
  if (auto error = CheckConvolution(attributes)) return *error;
  if (auto error = CheckOutputPadding(attributes)) return *error;
  const int64_t groups = attributes.Get(attribute::kGroups);
  if (auto error = CheckTransposedChannels(inputs, groups)) return *error;
  const auto dtype = ResultDType(inputs, attributes);
  if (const OpError* error = std::get_if<OpError>(&dtype)) return *error;
  const Shape& x = inputs[0].shape;
  const Shape& filter = inputs[1].shape;
  const Sliding2d sliding = ConvolutionSliding(attributes, filter[2], filter[3]);
  const Pair more = PairOf(attributes, attribute::kOutputPadding);
  Shape images = {x[0], filter[1] * groups, PaddedSize(sliding.rows, x[2], more.rows),
                  PaddedSize(sliding.columns, x[3], more.columns)};
  if (CountUpToLimit(images) <= kMaxElements) {
    if (auto error = TakePaddingOff(x, sliding, images)) return *error;
  }
  return TensorType{std::get<DType>(dtype), images};
}

Gradients ConvTranspose2dGradients(GraphBuilder& builder, const Op& op, OpId dy) {
  const OpId dx =
      builder.Add(OpKind::kConv2d, {dy, op.inputs[1]}, ConvolutionAttributes(op.attributes), GradientName(op, "x"));
  return {dx, FilterGradient(builder, op, op.inputs[0], dy)};
}

OpId BatchConvTranspose2d(Lift& lift) { return lift.mapped(1) ? BatchAsGroups(lift) : BatchAsSamples(lift); }

// The gradient of conv2d by its filters: (dy, x) to filters of `kernel`; a sum over samples and places, of which a rank
// adds up its own.

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
  const LocalSliding2d sliding = ConvolutionSlidingOf(evaluation, ConvolutionOutput::kFilter, local);
  ForEachProductRun(local, sliding, [&](const ProductRun& run) {
    double sum = 0;
    for (size_t i = 0; i < run.count; ++i) sum += x[run.x + i * run.stride] * dy[run.y + i];
    dfilter[run.filter] += sum;
  });
}

std::vector<KernelCall> Conv2dGradientFilterCalls(const CallSite& site) {
  return ConvolutionCall(site, "Conv2dGradientFilter", {.x = 1, .filter = kResult, .y = 0});
}

Need Conv2dGradientFilterNeed(Types inputs, const TensorType& output, const Attributes& attributes) {
  return ConvolutionNeed(ConvolutionOutput::kFilter, inputs[1], output, inputs[0], attributes);
}

}  // namespace

OpDefinition DefineConv2d() {
  return OpDefinition{.op_class = OpClass::kProduct,
                      .treatment = Treatment::kProduct,
                      .signature = ConvolutionSignature({{.name = "x"}, {.name = "filter"}}),
                      .summary = "convolution of images [n, c, h, w] with filters [o, c / groups, rows, columns]",
                      .infer = InferConv2d,
                      .rule = Conv2dRule,
                      .gradient = Conv2dGradients,
                      .flops = Conv2dFlops,
                      .evaluate = EvaluateConv2d,
                      .resize = ResizeConvolution,
                      .batch = BatchConv2d,
                      .calls = Conv2dCalls,
                      .need = Conv2dNeed};
}

OpDefinition DefineConv2dGradientInput() {
  return OpDefinition{
      .op_class = OpClass::kProduct,
      .callable = false,
      .treatment = Treatment::kProduct,
      .signature = ConvolutionSignature({{.name = "dy"}, {.name = "filter"}, RequiredAttribute(attribute::kImageSize)}),
      .summary = "gradient of conv2d by its images",
      .infer = InferConv2dGradientInput,
      .rule = Conv2dGradientInputRule,
      .flops = Conv2dGradientInputFlops,
      .evaluate = EvaluateConv2dGradientInput,
      .resize = ResizeConvolution,
      .calls = Conv2dGradientInputCalls,
      .need = Conv2dGradientInputNeed};
}

OpDefinition DefineConvTranspose2d() {
  OpDefinition definition = DefineConv2dGradientInput();
  definition.callable = true;
  definition.signature = ConvolutionSignature({{.name = "x"}, {.name = "filter"}});
  // Behind x, filter, stride and padding.
  definition.signature.insert(definition.signature.begin() + 4, OptionalAttribute(attribute::kOutputPadding, {0, 0}));
  definition.summary =
      "transposed convolution of images [n, o, h, w] with filters [o, c / groups, rows, columns]: the gradient of "
      "conv2d by its images";
  definition.infer = InferConvTranspose2d;
  definition.gradient = ConvTranspose2dGradients;
  definition.batch = BatchConvTranspose2d;
  return definition;
}

OpDefinition DefineConv2dGradientFilter() {
  return OpDefinition{
      .op_class = OpClass::kProduct,
      .callable = false,
      .treatment = Treatment::kGradient,
      .signature = ConvolutionSignature({{.name = "dy"}, {.name = "x"}, RequiredAttribute(attribute::kKernel)}),
      .summary = "gradient of conv2d by its filters",
      .infer = InferConv2dGradientFilter,
      .rule = Conv2dGradientFilterRule,
      .flops = Conv2dGradientFilterFlops,
      .evaluate = EvaluateConv2dGradientFilter,
      .resize = ResizeConvolution,
      .calls = Conv2dGradientFilterCalls,
      .need = Conv2dGradientFilterNeed};
}

}  // namespace cleave::ir
