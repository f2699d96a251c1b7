#include "absl/strings/strip.h"
#include "codegen/source/kernel.h"

namespace cleave {
namespace {

// Element 0 (rows) or 1 (columns) of an attribute that holds one number for both or two.
int64_t Along(const Kernel& kernel, Attribute<std::vector<int64_t>> key, int dimension) {
  const std::vector<int64_t>& numbers = kernel.compute.attributes.Get(key);
  return dimension == 0 ? numbers.front() : numbers.back();
}

// The elements of dimension `d` that the rank has, as a Range of the runtime: "window_28_m0", "{0, 28}".
std::string RangeText(const Kernel& kernel, ValueId value, int d) {
  const std::string begin = kernel.emission.sizes.Begin(value, d);
  absl::string_view name = begin;
  if (absl::ConsumeSuffix(&name, ".begin")) return std::string(name);
  return absl::StrCat("{", begin, ", ", kernel.emission.sizes.Size(value, d).Text(), "}");
}

// How a kernel slides along one dimension, as a Sliding of the runtime.
struct SlidingText {
  std::string input;
  std::string output;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;

  std::string Text() const {
    std::string text = absl::StrCat("{.input = ", input, ", .output = ", output, ", .kernel = ", kernel);
    if (stride != 1) absl::StrAppend(&text, ", .stride = ", stride);
    if (padding != 0) absl::StrAppend(&text, ", .padding = ", padding);
    if (dilation != 1) absl::StrAppend(&text, ", .dilation = ", dilation);
    return absl::StrCat(text, "}");
  }
};

// The tensors between which a kernel slides.
struct Images {
  ValueId input;
  ValueId output;
};

// Rows (0) or columns (1).
SlidingText SlidingAlong(const Kernel& kernel, const Images& images, int dimension, int64_t taps) {
  const bool strided = !kernel.compute.attributes.Get(attribute::kStride).empty();
  return {.input = RangeText(kernel, images.input, 2 + dimension),
          .output = RangeText(kernel, images.output, 2 + dimension),
          .kernel = taps,
          .stride = strided ? Along(kernel, attribute::kStride, dimension) : taps,
          .padding = Along(kernel, attribute::kPadding, dimension)};
}

// f(sizes, rows, columns, inputs…, output) for a convolution or gradient between `images`, with `filter`.
void Convolve(const Kernel& kernel, absl::string_view function, const Images& images, ValueId filter) {
  Sizes& sizes = kernel.emission.sizes;
  std::vector<std::string> arguments = {absl::StrCat("{.samples = ", sizes.Size(images.output, 0).Text(),
                                                     ", .channels = ", sizes.Size(images.input, 1).Text(),
                                                     ", .filters = ", sizes.Size(images.output, 1).Text(),
                                                     ", .filter_channels = ", sizes.Size(filter, 1).Text(), "}")};
  for (const int dimension : {0, 1}) {
    const int64_t taps = kernel.emission.value(filter).type.shape[static_cast<size_t>(2 + dimension)];
    SlidingText along = SlidingAlong(kernel, images, dimension, taps);
    along.dilation = Along(kernel, attribute::kDilation, dimension);
    arguments.push_back(along.Text());
  }
  arguments.insert(arguments.end(), {kernel.Input(0), kernel.Input(1), kernel.Output()});
  kernel.Call(function, arguments);
}

void Conv2d(const Kernel& kernel) {
  const Compute& compute = kernel.compute;
  Convolve(kernel, "Conv2d", {.input = compute.inputs[0], .output = compute.output}, compute.inputs[1]);
}

void Conv2dGradientInput(const Kernel& kernel) {
  const Compute& compute = kernel.compute;
  Convolve(kernel, "Conv2dGradientInput", {.input = compute.output, .output = compute.inputs[0]}, compute.inputs[1]);
}

void Conv2dGradientFilter(const Kernel& kernel) {
  const Compute& compute = kernel.compute;
  Convolve(kernel, "Conv2dGradientFilter", {.input = compute.inputs[1], .output = compute.inputs[0]}, compute.output);
}

// f(inputs…, planes, rows, columns, output)
void Pool(const Kernel& kernel, absl::string_view function, const Images& images) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.compute.inputs.size(); ++i) arguments.push_back(kernel.Input(i));
  arguments.push_back(kernel.emission.sizes.CountOf(images.input, 0, 2).Text());
  for (const int dimension : {0, 1}) {
    arguments.push_back(SlidingAlong(kernel, images, dimension, Along(kernel, attribute::kKernel, dimension)).Text());
  }
  arguments.push_back(kernel.Output());
  kernel.Call(function, arguments);
}

template <const char* const& kFunction>
void Pooling(const Kernel& kernel) {
  Pool(kernel, kFunction, {.input = kernel.compute.inputs[0], .output = kernel.compute.output});
}

template <const char* const& kFunction>
void PoolingGradient(const Kernel& kernel) {
  Pool(kernel, kFunction, {.input = kernel.compute.output, .output = kernel.compute.inputs[0]});
}

constexpr const char* kAvgPool = "AvgPool";
constexpr const char* kAvgPoolGradient = "AvgPoolGradient";
constexpr const char* kMaxPool = "MaxPool";
constexpr const char* kMaxPoolGradient = "MaxPoolGradient";
constexpr const char* kMaxPoolIndex = "MaxPoolIndex";

}  // namespace

void AddConvolutionKernels(Emitters& emitters) {
  emitters[OpKind::kAvgPool] = Pooling<kAvgPool>;
  emitters[OpKind::kAvgPoolGradient] = PoolingGradient<kAvgPoolGradient>;
  emitters[OpKind::kConv2d] = Conv2d;
  emitters[OpKind::kConv2dGradientFilter] = Conv2dGradientFilter;
  emitters[OpKind::kConv2dGradientInput] = Conv2dGradientInput;
  emitters[OpKind::kMaxPool] = Pooling<kMaxPool>;
  emitters[OpKind::kMaxPoolGradient] = PoolingGradient<kMaxPoolGradient>;
  emitters[OpKind::kMaxPoolIndex] = Pooling<kMaxPoolIndex>;
}

}  // namespace cleave
