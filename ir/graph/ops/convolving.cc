#include "ir/graph/ops/convolving.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check/check.h"

namespace cleave::ir {
namespace {

// The factors' indexes, always in this order; g is -1 where there is one group.
struct Factors {
  int n, g, o, c;
  ImageFactors images;
  int kernel_rows, kernel_columns;
};

Factors FactorsOf(const Attributes& attributes) {
  const int g = attributes.Get(attribute::kGroups) > 1 ? 1 : 0;
  return {.n = 0,
          .g = g == 1 ? 1 : -1,
          .o = g + 1,
          .c = g + 2,
          .images = {.rows = g + 3, .columns = g + 4},
          .kernel_rows = g + 5,
          .kernel_columns = g + 6};
}

FactorList Grouped(const Factors& factors, int factor) {
  return factors.g < 0 ? FactorList{factor} : FactorList{factors.g, factor};
}

void AddFactors(ConvolutionOutput output, const ConvolutionShapes& shapes, int64_t groups, Rule& rule) {
  const auto reduced_but_for = [&](ConvolutionOutput a, ConvolutionOutput b) {
    return output == a || output == b ? FactorKind::kParallel : FactorKind::kReduced;
  };
  const FactorKind sample = reduced_but_for(ConvolutionOutput::kX, ConvolutionOutput::kY);
  const Shape& images = output == ConvolutionOutput::kX ? shapes.x : shapes.y;
  AddFactor(rule, "n", shapes.y[0], sample);
  if (groups > 1) AddFactor(rule, "g", groups);
  AddFactor(rule, "o", shapes.y[1] / groups, reduced_but_for(ConvolutionOutput::kFilter, ConvolutionOutput::kY));
  AddFactor(rule, "c", shapes.filter[1], reduced_but_for(ConvolutionOutput::kX, ConvolutionOutput::kFilter));
  AddFactor(rule, "h", images[2], sample);
  AddFactor(rule, "w", images[3], sample);
  AddFactor(rule, "kh", shapes.filter[2], FactorKind::kWhole);
  AddFactor(rule, "kw", shapes.filter[3], FactorKind::kWhole);
}

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

bool IsInBlocks(const TensorType& images) { return images.rank() > 4; }
int64_t ChannelsOf(const TensorType& images) {
  return images.shape[1] * (IsInBlocks(images) ? images.shape.back() : 1);
}

// The samples that are convolved at once, as PartsOfSamples of runtime/math/onednn/convolution.cc says.
int64_t SamplesAtOnce(const TensorType& x, const TensorType& y) {
  constexpr int64_t kCachedElements = 1 << 19;
  const int64_t samples = x.shape[0];
  if (samples == 0) return 0;
  const int64_t copied = (IsInBlocks(x) ? 0 : x.elements()) + (IsInBlocks(y) ? 0 : y.elements());
  const int64_t parts = std::min(samples, (copied + kCachedElements - 1) / kCachedElements);
  return parts == 0 ? samples : (samples + parts - 1) / parts;
}

// Whether the convolution is a matrix product of channels, at every element or at one of each `stride` of them.
bool IsPointwise(const Sliding2d& sliding, const Shape& x, const Shape& y) {
  const auto along = [&](const Sliding& side, size_t dimension) {
    return side.kernel == 1 && side.padding == 0 && y[dimension] * side.stride == x[dimension];
  };
  return along(sliding.rows, 2) && along(sliding.columns, 3);
}

// Whether oneDNN has kernels for images in blocks in all three directions. Where it has not, blocks are copied to
// ordinary images and back.
bool HasKernelOfBlocks(const Sliding2d& sliding, const Shape& x, const Shape& y) {
  if (sliding.rows.kernel == 1 && sliding.columns.kernel == 1) return IsPointwise(sliding, x, y);
  const auto along = [](const Sliding& side) { return side.stride <= 2 && side.dilation == 1; };
  return along(sliding.rows) && along(sliding.columns);
}

// Of what is copied into oneDNN's layouts: to multiples of how many channels it is padded. 0: it is not copied.
struct CopiedBlocks {
  int64_t x = 0;
  int64_t y = 0;
  int64_t groups = 1;
  int64_t filters = 0;   // Of a group.
  int64_t channels = 0;  // Of a group, in filters.
};

// As oneDNN 2.6 does with AVX-512. Where it has no kernel for a stride or a dilation, it takes less.
CopiedBlocks BlocksOf(ConvolutionOutput output, const Shape& filter, int64_t groups, bool is_pointwise) {
  constexpr int64_t kLanes = 16;  // The floats of an AVX-512 register.
  const int64_t channels = filter[1];
  const int64_t filters = filter[0] / groups;
  if (groups > 1 && channels == 1 && filters == 1) {
    return {.x = kLanes, .y = kLanes, .groups = kLanes, .filters = 1, .channels = 1};
  }
  if (groups > 1) {
    // Groups are not padded.
    const bool is_copied = channels % 4 == 0 && filters % 4 == 0;
    if (is_copied) return {.x = 1, .y = 1, .filters = 1, .channels = 1};
    const bool reads_few = channels < 4 && filters % 8 == 0 && output == ConvolutionOutput::kY;
    if (reads_few) return {.y = 1, .filters = 1, .channels = 1};
    return {};
  }
  const bool is_narrow = channels < kLanes && !is_pointwise && output != ConvolutionOutput::kX;
  if (!is_narrow) return {.x = kLanes, .y = kLanes, .filters = kLanes, .channels = kLanes};
  // Images with few channels stay as they are. For the filters' gradient it then falls back to AVX2.
  constexpr int64_t kAvx2Lanes = 8;
  const bool falls_back = output == ConvolutionOutput::kFilter && channels > 3;
  if (falls_back) return {.x = kAvx2Lanes, .y = kAvx2Lanes, .filters = kAvx2Lanes, .channels = kAvx2Lanes};
  return {.y = kLanes, .filters = kLanes, .channels = 1};
}

}  // namespace

std::vector<Argument> ConvolutionSignature(std::vector<Argument> first) {
  first.push_back(OptionalAttribute(attribute::kStride, {1, 1}));
  first.push_back(OptionalAttribute(attribute::kPadding, {0, 0}));
  first.push_back(OptionalAttribute(attribute::kDilation, {1, 1}));
  first.push_back(OptionalAttribute(attribute::kGroups, 1));
  first.push_back(ResultArgument());
  return first;
}

Attributes ConvolutionAttributes(const Attributes& attributes) {
  return attributes.Only(attribute::kStride, attribute::kPadding, attribute::kDilation, attribute::kGroups);
}

Sliding2d ConvolutionSliding(const Attributes& attributes, int64_t rows, int64_t columns) {
  const Pair stride = PairOf(attributes, attribute::kStride);
  const Pair padding = PairOf(attributes, attribute::kPadding);
  const Pair dilation = PairOf(attributes, attribute::kDilation);
  return {.rows = {.kernel = rows, .stride = stride.rows, .padding = padding.rows, .dilation = dilation.rows},
          .columns = {
              .kernel = columns, .stride = stride.columns, .padding = padding.columns, .dilation = dilation.columns}};
}

std::optional<OpError> CheckConvolution(const Attributes& attributes) {
  if (auto error = CheckPair(attributes, attribute::kStride, 1)) return error;
  if (auto error = CheckPair(attributes, attribute::kPadding, 0)) return error;
  if (auto error = CheckPair(attributes, attribute::kDilation, 1)) return error;
  const int64_t groups = attributes.Get(attribute::kGroups);
  if (groups >= 1) return std::nullopt;
  return OpError{
      .code = Code::kE0409, .message = absl::StrCat("`groups` is ", groups), .notes = {"there is at least one group"}};
}

Rule ConvolutionRule(ConvolutionOutput output, const ConvolutionShapes& shapes, const Attributes& attributes) {
  Rule rule;
  AddFactors(output, shapes, attributes.Get(attribute::kGroups), rule);
  const Factors factors = FactorsOf(attributes);
  const auto [rows, columns] = factors.images;
  const std::vector<FactorList> x = {{factors.n}, Grouped(factors, factors.c), {rows}, {columns}};
  const std::vector<FactorList> y = {{factors.n}, Grouped(factors, factors.o), {rows}, {columns}};
  const std::vector<FactorList> filter = {
      Grouped(factors, factors.o), {factors.c}, {factors.kernel_rows}, {factors.kernel_columns}};
  const Sliding2d sliding = ConvolutionSliding(attributes, shapes.filter[2], shapes.filter[3]);
  const auto over_x = [&](int input) {
    rule.windows = {KernelWindow(input, 2, sliding.rows, shapes.x[2], shapes.y[2]),
                    KernelWindow(input, 3, sliding.columns, shapes.x[3], shapes.y[3])};
  };
  switch (output) {
    case ConvolutionOutput::kX:
      rule.inputs = {y, filter};
      rule.output = x;
      rule.windows = {PlacesWindow(0, 2, sliding.rows, shapes.x[2], shapes.y[2]),
                      PlacesWindow(0, 3, sliding.columns, shapes.x[3], shapes.y[3])};
      break;
    case ConvolutionOutput::kFilter:
      rule.inputs = {y, x};
      rule.output = filter;
      over_x(1);
      break;
    case ConvolutionOutput::kY:
      rule.inputs = {x, filter};
      rule.output = y;
      over_x(0);
      break;
  }
  rule.windows[0].taps = factors.kernel_rows;
  rule.windows[1].taps = factors.kernel_columns;
  rule.linear = {{0}, {1}};
  return rule;
}

Flops ConvolutionFlops(const Shape& y, const Shape& filter) {
  const int64_t places = y[0] * y[2] * y[3];
  return Flops(2.0 * static_cast<double>(places) * static_cast<double>(ElementCount(filter)));
}

LocalSliding2d ConvolutionSlidingOf(const Evaluation& evaluation, ConvolutionOutput output,
                                    const ConvolutionShapes& local) {
  const Sliding2d sliding = ConvolutionSliding(evaluation.attributes, local.filter[2], local.filter[3]);
  const ImageFactors images = FactorsOf(evaluation.attributes).images;
  return output == ConvolutionOutput::kX ? SlidingOverOutput(evaluation, sliding, images, local.y)
                                         : SlidingOverInput(evaluation, sliding, images, local.x);
}

Attributes ResizeConvolution(const Attributes& attributes, const Rule& resized) {
  const Factors factors = FactorsOf(attributes);
  const auto size = [&](int factor) { return resized.factors[static_cast<size_t>(factor)].size; };
  const Sliding2d sliding = SlidingOf(resized);
  Attributes result = attributes;
  if (factors.g >= 0) result.Set(attribute::kGroups, size(factors.g));
  SetPair(attribute::kStride, sliding.rows.stride, sliding.columns.stride, result);
  SetPair(attribute::kPadding, sliding.rows.padding, sliding.columns.padding, result);
  SetPair(attribute::kDilation, sliding.rows.dilation, sliding.columns.dilation, result);
  const int64_t rows = size(factors.images.rows);
  const int64_t columns = size(factors.images.columns);
  if (attributes.Has(attribute::kKernel)) {
    SetPair(attribute::kKernel, size(factors.kernel_rows), size(factors.kernel_columns), result);
  }
  if (attributes.Has(attribute::kImageSize)) SetPair(attribute::kImageSize, rows, columns, result);
  if (attributes.Has(attribute::kOutputPadding)) {
    SetPair(attribute::kOutputPadding, rows - sliding.rows.InputSize(resized.windows[0].window.elements),
            columns - sliding.columns.InputSize(resized.windows[1].window.elements), result);
  }
  return result;
}

std::vector<KernelCall> ConvolutionCall(const CallSite& site, std::string function, const ConvolutionTensors& tensors) {
  const Shape& filter = site.type(tensors.filter).shape;
  const Sliding2d sliding = ConvolutionSliding(site.attributes, filter[2], filter[3]);
  const auto size = [](int tensor, int dimension) { return LocalSize{{{tensor, dimension}}}; };
  const BracedList sizes = {{{size(tensors.y, 0), "samples"},
                             {size(tensors.x, 1), "channels"},
                             {size(tensors.y, 1), "filters"},
                             {size(tensors.filter, 1), "filter_channels"}}};
  KernelCall call = {
      std::move(function),
      {sizes, SlidingArgument(sliding.rows, {tensors.x, 2}, {tensors.y, 2}),
       SlidingArgument(sliding.columns, {tensors.x, 3}, {tensors.y, 3}), Pointer{0}, Pointer{1}, Pointer{kResult}}};
  const bool has_one_group =
      site.attributes.Get(attribute::kGroups) == 1;  // What oneDNN wants depends on their number.
  const bool in_small_blocks =
      has_one_group && HasKernelOfBlocks(sliding, site.type(tensors.x).shape, site.type(tensors.y).shape);
  call.arguments.push_back(ImageSides{{tensors.x}, {tensors.y}, in_small_blocks});
  return {std::move(call)};
}

Need ConvolutionNeed(ConvolutionOutput output, const TensorType& x, const TensorType& filter, const TensorType& y,
                     const Attributes& attributes) {
  const int64_t groups = filter.shape[1] == 0 ? 1 : std::max<int64_t>(ChannelsOf(x) / filter.shape[1], 1);  // Local.
  const Sliding2d sliding = ConvolutionSliding(attributes, filter.shape[2], filter.shape[3]);
  const CopiedBlocks blocks = BlocksOf(output, filter.shape, groups, IsPointwise(sliding, x.shape, y.shape));
  const bool is_sum = output == ConvolutionOutput::kFilter;
  const int64_t samples = is_sum && filter.dtype != DType::kF32 ? x.shape[0] : SamplesAtOnce(x, y);
  const auto images = [&](const TensorType& type, int64_t block) {
    const bool lies_so = IsInBlocks(type) && block == kBlockChannels && type.shape.back() % block == 0;
    if (block == 0 || lies_so) return Bytes(0);
    return ElementSize(type.dtype) * (samples * RoundUp(ChannelsOf(type), block) * type.shape[2] * type.shape[3]);
  };
  const auto weights = [&](const CopiedBlocks& padded) {
    if (padded.filters == 0) return Bytes(0);
    return ElementSize(filter.dtype) *
           (RoundUp(groups, padded.groups) * RoundUp(filter.shape[0] / groups, padded.filters) *
            RoundUp(filter.shape[1], padded.channels) * filter.shape[2] * filter.shape[3]);
  };
  return {.temporary = is_sum && samples < x.shape[0] ? weights({.groups = 1, .filters = 1, .channels = 1}) : Bytes(0),
          .images = images(x, blocks.x),
          .filters = weights(blocks),
          .results = images(y, blocks.y)};
}

}  // namespace cleave::ir
